import numpy as np
import pyflowdata as flow

print(flow.Cast(np.array([1.4, -2.6], np.float64), dtype="int32"))
print(flow.Cast(np.array([-5, 300], np.int64), dtype="uint8", overflow="saturate"))

# [ 1 -2]
# [  0 255]
