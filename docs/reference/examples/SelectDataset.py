import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
print([int(record["x"]) for record in data.where("x >= 4")])
print([int(record["x"]) for record in data[[5, 0]]])

# [4, 5]
# [5, 0]
