import pyflowdata as flow

record = flow.OneRecReader(files="features.onerec", batch_size=4)
label, ids = flow.OneRecDecoder(record, features=["label:int32", "ids:int64[?]"])
with flow.DataLoader(label, ids) as loader:
    labels, lists = next(iter(loader))
    print(labels, [row.tolist() for row in lists])

# [0 1 0 1] [[], [1], [2, 3], [3, 4, 5]]
