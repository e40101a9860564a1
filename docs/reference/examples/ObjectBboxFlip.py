import numpy as np
import pyflowdata as flow

boxes = np.array([[2, 3, 11, 7]], np.float32)                          # left, top, right, bottom
print(flow.ObjectBboxFlip(boxes, np.array([20, 30], np.int32), np.int8(1)).tolist())

# [[18.0, 3.0, 27.0, 7.0]]
