import numpy as np
import pyflowdata as flow

boxes = np.float32([[2, 3, 11, 7]])                          # left, top, right, bottom
print(flow.ObjectBboxScale(boxes, np.float32([2, 0.5])).tolist())

# [[1.0, 6.0, 5.5, 14.0]]
