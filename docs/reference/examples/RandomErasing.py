import numpy as np
import pyflowdata as flow

image = np.full((16, 16, 3), 255, np.uint8)
erased = flow.RandomErasing(image, probability=1, area=[0.25, 0.25], layout="HWC",
                            seed=1)
print(erased.shape, round(float((erased == 0).mean()), 2))

# (16, 16, 3) 0.27
