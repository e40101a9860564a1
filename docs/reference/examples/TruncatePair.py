import numpy as np
import pyflowdata as flow

question, answer = np.array([1, 2, 3, 4, 5]), np.array([11, 12, 13])
first, second = flow.TruncatePair(question, answer, max_length=5)
print(first, second)

# [1 2 3] [11 12]
