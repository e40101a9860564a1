import numpy as np
import pyflowdata as flow

print(flow.Cast(np.float64([1.4, -2.6]), dtype="int32"))
print(flow.Cast(np.int64([-5, 300]), dtype="uint8", overflow="saturate"))

# [ 1 -2]
# [  0 255]
