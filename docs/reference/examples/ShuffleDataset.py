import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
print(sorted(int(record["x"]) for record in data.shuffle(seed=1)))

# [0, 1, 2, 3, 4, 5]
