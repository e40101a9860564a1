import pyflowdata as flow

data = flow.from_arrays({"x": [1.5, 2.5, 3.5]})
kept = data.cache("kept")                                  # reads by CacheReader
print(len(kept), float(kept[1]["x"]))

# 3 2.5
