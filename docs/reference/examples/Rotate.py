import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
turned = flow.Rotate(image, degrees=90, expand=True)
print(turned.shape, bool((turned == np.rot90(image)).all()))

# (8, 6, 1) True
