import numpy as np
import pyflowdata as flow
from pyflowdata.io import ImageFolderWriter

with ImageFolderWriter("photos", classes=["cat", "dog"]) as writer:
    for label in (0, 1, 1):
        writer.write({"image": np.zeros((20, 30, 3), np.uint8), "label": label})

file, label = flow.ImageFolderReader("photos", batch_size=3)
with flow.DataLoader(flow.ImageDecoder(file), label) as loader:
    for images, labels in loader:
        print([image.shape for image in images], labels)

# [(20, 30, 3), (20, 30, 3), (20, 30, 3)] [0 1 1]
