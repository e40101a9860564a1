import io

import numpy as np
import pyflowdata as flow

file = io.BytesIO()
np.save(file, np.array([[1, 2], [3, 4]], np.float32))
print(flow.DecodeNpy(file.getvalue(), dtype="float32", shape=[2, 2]).tolist())

# [[1.0, 2.0], [3.0, 4.0]]
