import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
web, books = data, flow.from_arrays({"x": range(100, 106)})
mixed = flow.mix([web, books], weights=[3, 1], length=8)
print([int(record["x"]) for record in mixed])

# [0, 1, 2, 100, 3, 4, 5, 101]
