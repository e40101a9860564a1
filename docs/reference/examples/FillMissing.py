import numpy as np
import pyflowdata as flow

ages = np.array([31, np.nan, 20], np.float32)
print(flow.FillMissing(ages, value=25.5))
print(flow.FillMissing(ages, value=25.5, with_missing=True)[1])

# [31.  25.5 20. ]
# [False  True False]
