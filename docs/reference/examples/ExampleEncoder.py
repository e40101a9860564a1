import numpy as np
import pyflowdata as flow

record = flow.ExampleEncoder(np.array([0.5, 1.0], np.float32), np.int64(7), names=["x", "label"])
x, label = flow.ExampleDecoder(record, features=["x:float32[2]", "label:int64"])
print(x, label)

# [0.5 1. ] 7
