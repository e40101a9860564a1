import numpy as np
import pyflowdata as flow

file = np.array([[1, 2], [3, 4]], np.float32).tobytes()
print(flow.DecodeRaw(file, dtype="float32", shape=[2, 2]).tolist())
print([row.tolist() for row in flow.DecodeRaw([b"ab", b"c"], dtype="uint8", shape=[None])])

# [[1.0, 2.0], [3.0, 4.0]]
# [[97, 98], [99]]
