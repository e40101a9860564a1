import numpy as np
import pyflowdata as flow

image = np.full((2, 2, 3), 100, np.uint8)
dark = flow.ColorJitter(image, brightness=[0.5, 0.5])
print(dark[0, 0])

# [50 50 50]
