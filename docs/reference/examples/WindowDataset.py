import pyflowdata as flow

data = flow.from_arrays({"n": range(6), "run": [0, 0, 0, 0, 1, 1]})
for record in data.windows(3, step=2, last="short", key="run"):
    print(record["run"], record["n"])

# 0 [0 1 2]
# 0 [2 3]
# 1 [4 5]
