import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
drawn = [int(flow.CoinFlip(image, seed=1, ordinal=record)) for record in range(100)]
print(sum(drawn), "of 100 are 1")

# 56 of 100 are 1
