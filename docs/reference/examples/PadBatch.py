import pyflowdata as flow

print([row.tolist() for row in flow.PadBatch([[1, 2, 3], [4]])])

# [[1, 2, 3], [4, 0, 0]]
