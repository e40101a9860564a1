import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
print(sorted(int(record["x"]) for record in data.take(3).repeat_by([1, 2, 3], seed=1)))

# [0, 1, 1, 2, 2, 2]
