import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
print([int(record["x"]) for record in data.take(3)])

# [0, 1, 2]
