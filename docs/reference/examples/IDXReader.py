import numpy as np
import pyflowdata as flow
from pyflowdata.io import IDXWriter

with IDXWriter("digits") as writer:
    writer.write_batch({"images": np.zeros((4, 28, 28), np.uint8)})
with IDXWriter("labels") as writer:
    writer.write_batch({"labels": np.array([5, 0, 4, 1], np.uint8)})

images, labels = flow.IDXReader(files="digits", labels="labels", batch_size=4)
with flow.DataLoader(images, labels) as loader:
    for image_batch, label_batch in loader:
        print(image_batch.shape, label_batch.tolist())

# (4, 28, 28) [5, 0, 4, 1]
