import pyflowdata as flow

framed = flow.TFRecordFrame(b"bytes of a record")
print(len(framed), framed.tobytes()[12:-4])

# 33 b'bytes of a record'
