import numpy as np
import pyflowdata as flow

records = np.zeros((2, 1 + 3072), np.uint8)
records[:, 0] = 3, 8                                       # a label, then the pixels
records.tofile("data_batch_1.bin")

image, label = flow.CIFARReader(files="data_batch_*.bin", layout="HWC", batch_size=2)
with flow.DataLoader(image, label) as loader:
    for images, labels in loader:
        print(images.shape, labels.tolist())

# (2, 32, 32, 3) [3, 8]
