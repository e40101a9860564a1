import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
print([int(record["x"]) for record in data.skip(3)])

# [3, 4, 5]
