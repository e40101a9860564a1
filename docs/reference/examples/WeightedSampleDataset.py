import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
drawn = data.sample([0, 0, 0, 0, 1, 1], num_samples=100, seed=1)
print(len(drawn), {int(record["x"]) for record in drawn})

# 100 {4, 5}
