import numpy as np
import pyflowdata as flow

image = np.full((40, 60, 3), 99, np.uint8)
jpeg = flow.ImageEncoder(image, quality=90)
png = flow.ImageEncoder(image, format="png")
print(jpeg[:2].tobytes(), png[:4].tobytes())

# b'\xff\xd8' b'\x89PNG'
