import pyflowdata as flow
from pyflowdata.io import OFRecordWriter

with OFRecordWriter("part-0") as writer:
    for label in (3, 1):
        writer.write({"x": [0.5, 1.0], "label": label})

record = flow.OFRecordReader(".", batch_size=2)
x = flow.OFRecordRawDecoder(record, blob_name="x", shape=[2], dtype="float32")
label = flow.OFRecordRawDecoder(record, blob_name="label", shape=[], dtype="int32")
with flow.DataLoader(x, label) as loader:
    for x_batch, labels in loader:
        print(x_batch.tolist(), labels)

# [[0.5, 1.0], [0.5, 1.0]] [3 1]
