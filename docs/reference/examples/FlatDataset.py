import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
def halves(x):
    return {"half": [x, x + 0.5]}

print([float(record["half"]) for record in data.take(2).flat_map(halves, fan_out=2)])

# [0.0, 0.5, 1.0, 1.5]
