import numpy as np
import pyflowdata as flow

record = flow.RecordEncoder(np.array([0.5, 1.0], np.float32), np.int64(7))
print(record.dtype, len(record))

# uint8 16
