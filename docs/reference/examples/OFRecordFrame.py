import pyflowdata as flow

print(flow.OFRecordFrame(b"bytes of a record").tobytes())

# b'\x11\x00\x00\x00\x00\x00\x00\x00bytes of a record'
