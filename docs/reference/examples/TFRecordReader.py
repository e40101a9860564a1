import pyflowdata as flow
from pyflowdata.io import TFRecordWriter

with TFRecordWriter("train.tfrecord") as writer:
    for label in (3, 1, 2):
        writer.write({"x": [0.5, 1.0], "label": label})

record = flow.TFRecordReader(files="train.tfrecord", batch_size=3, shuffle="global", seed=1)
x, label = flow.ExampleDecoder(record, features=["x:float32[2]", "label:int64"])
with flow.DataLoader(x, label) as loader:
    for x_batch, labels in loader:
        print(x_batch.shape, sorted(labels.tolist()))

# (3, 2) [1, 2, 3]
