import pyflowdata as flow

data = flow.open("index.json")  # written by streaming's MDSWriter
print(list(data.fields)[:4])
print(data[1]["c_str"], data[1]["e_str_int"])

# ['a_int', 'b_bytes', 'c_str', 'd_json']
# b'gr' -90
