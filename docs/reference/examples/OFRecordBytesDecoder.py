import pyflowdata as flow
from pyflowdata.io import encode_ofrecord

record = encode_ofrecord({"name": b"cat"})
print(flow.OFRecordBytesDecoder(record, blob_name="name").tobytes())

# b'cat'
