import pyflowdata as flow

wanted = ["int8", "string", "pairs", "matrix", "struct.number"]
data = flow.open("types.arrow", fields=wanted)  # written by pyarrow
print(data.fields["int8"].type, data.fields["matrix"].type)
print(data[3]["string"], data[3]["pairs"].tolist(), data[3]["struct.number"])

# int8 int64[?,?]
# b'twelve bytes' [[3.0, 0.5], [3.0, 0.5], [3.0, 0.5]] 3
