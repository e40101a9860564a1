import pyflowdata as flow

data = flow.from_arrays({"x": [5, 6, 7, 8]})

print([(int(r["index"]), int(r["x"])) for r in data.skip(2).enumerate()])

# [(0, 7), (1, 8)]
