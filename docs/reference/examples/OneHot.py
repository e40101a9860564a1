import pyflowdata as flow

print([row.tolist() for row in flow.OneHot([2, 0], depth=3)])

# [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
