import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
flipped = [flow.RandomFlip(image, seed=1, ordinal=record) for record in range(100)]
print(sum(bool((one == image[:, ::-1]).all()) for one in flipped), "of 100 are mirrored")

# 50 of 100 are mirrored
