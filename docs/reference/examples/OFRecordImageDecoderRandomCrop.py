import numpy as np
import pyflowdata as flow
from pyflowdata.io import encode_ofrecord

image = np.full((40, 60, 3), 128, np.uint8)
file = flow.ImageEncoder(image, format="png")
record = encode_ofrecord({"encoded": file.tobytes()})
crop = flow.OFRecordImageDecoderRandomCrop(record, blob_name="encoded", seed=1)
print(crop.shape[0] <= 40, crop.shape[1] <= 60)

# True True
