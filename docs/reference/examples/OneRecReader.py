import pyflowdata as flow

record = flow.OneRecReader(files="features.onerec", batch_size=4)  # OneFlow wrote it
label = flow.OneRecDecoder(record, features=["label:int32"])
with flow.DataLoader(label) as loader:
    print(next(iter(loader)))

# [0 1 0 1]
