import numpy as np
import pyflowdata as flow

images = [np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)]
mixed, shares = flow.CutMix(images, flow.OneHot([0, 1], depth=2), layout="HWC", seed=1)
for image, share in zip(mixed, shares):
    print(image.shape, bool(abs((image == 255).mean() - share[1]) < 1e-6))

# (8, 8, 3) True
# (8, 8, 3) True
