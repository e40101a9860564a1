import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
print([int(record["x"]) for record in data[1:6:2]])

# [1, 3, 5]
