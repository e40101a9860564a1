import numpy as np
import pyflowdata as flow

images = [np.zeros((6, 8, 3), np.uint8), np.zeros((5, 10, 3), np.uint8)]
print([image.shape for image in flow.ImageBatchAlign(images, alignment=4)])

# [(8, 12, 3), (8, 12, 3)]
