import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
with flow.DataLoader(data.batch(4).blobs) as loader:
    print([batch["x"].tolist() for batch in loader])

# [[0, 1, 2, 3], [4, 5]]
