import pyflowdata as flow

data = flow.open("types.arrow")  # written by pyarrow
print(list(data.fields)[:3], data.fields["matrix"].type)
print(data[3]["string"], data[3]["pairs"].tolist(), data[3]["struct.number"])

# ['int8', 'int16', 'int32'] int64[?,?]
# b'twelve bytes' [[3.0, 0.5], [3.0, 0.5], [3.0, 0.5]] 3
