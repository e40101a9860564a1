import json

import numpy as np
import pyflowdata as flow

with open("1.png", "wb") as image, open("all.manifest", "w") as lines:
    image.write(flow.ImageEncoder(np.zeros((20, 30, 3), np.uint8), format="png"))
    json.dump({"source": "1.png", "usage": "train", "annotation": [{"name": "cat"}]}, lines)

file, label = flow.ManifestReader(files="all.manifest", usage="train", batch_size=1)
with flow.DataLoader(flow.ImageDecoder(file), label) as loader:
    for images, labels in loader:
        print([image.shape for image in images], labels)

# [(20, 30, 3)] [0]
