import numpy as np
import pyflowdata as flow
from pyflowdata.io import encode_ofrecord

image = np.full((40, 60, 3), 128, np.uint8)
file = flow.ImageEncoder(image, format="png")
record = encode_ofrecord({"encoded": file.tobytes()})
print(flow.OFRecordImageDecoder(record, blob_name="encoded").shape)

# (40, 60, 3)
