import numpy as np
import pyflowdata as flow

print(flow.Slice(np.arange(10), start=[2], stop=[8], step=[3]))

# [2 5]
