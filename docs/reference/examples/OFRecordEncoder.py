import numpy as np
import pyflowdata as flow

record = flow.OFRecordEncoder(np.float32([0.5, 1.0]), names=["x"])
print(flow.OFRecordRawDecoder(record, blob_name="x", shape=[2], dtype="float32"))

# [0.5 1. ]
