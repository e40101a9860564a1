import pyflowdata as flow

data = flow.from_arrays({"x": range(6), "label": [0, 0, 0, 0, 1, 1]})
balanced = data.balance("label", num_samples=4, seed=1)
print(sorted(int(record["label"]) for record in balanced))

# [0, 0, 1, 1]
