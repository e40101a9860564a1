import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
drawn = data.sample([1, 1, 1, 1, 1, 5], replacement=False, seed=1)
print(sorted(int(record["x"]) for record in drawn))

# [0, 1, 2, 3, 4, 5]
