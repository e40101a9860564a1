import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
print([int(record["x"]) for record in data.take(2).repeat(3)])

# [0, 1, 0, 1, 0, 1]
