import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
train, val = data.split([0.5, 0.5])
print(sorted(int(record["x"]) for part in (train, val) for record in part))

# [0, 1, 2, 3, 4, 5]
