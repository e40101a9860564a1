import json

import numpy as np
import pyflowdata as flow

with open("1.png", "wb") as file:
    file.write(flow.ImageEncoder(np.zeros((20, 30, 3), np.uint8), format="png"))
with open("all.json", "w") as file:
    json.dump({
        "images": [{"id": 1, "file_name": "1.png", "height": 20, "width": 30}],
        "categories": [{"id": 7, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 7, "iscrowd": 0, "area": 50,
                         "bbox": [2, 3, 10, 5], "segmentation": [[2, 3, 12, 3, 12, 8]]}],
    }, file)

image, image_id, size, box, label, points, index = flow.COCOReader(
    files="all.json", image_dir=".", group_by_ratio=False, batch_size=1
)
with flow.DataLoader(size, box, label) as loader:
    for sizes, boxes, labels in loader:
        print(sizes.tolist(), boxes[0].tolist(), labels[0].tolist())

# [[20, 30]] [[2.0, 3.0, 11.0, 7.0]] [1]
