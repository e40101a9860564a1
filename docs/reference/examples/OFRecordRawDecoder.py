import pyflowdata as flow
from pyflowdata.io import encode_ofrecord

record = encode_ofrecord({"x": [0.5, 1.0, 1.5]})
print(flow.OFRecordRawDecoder(record, blob_name="x", shape=[3], dtype="float32"))

# [0.5 1.  1.5]
