import numpy as np
import pyflowdata as flow

record = flow.OFRecordEncoder(np.array([0.5, 1.0], np.float32), names=["x"])
print(flow.OFRecordRawDecoder(record, blob_name="x", shape=[2], dtype="float32"))

# [0.5 1. ]
