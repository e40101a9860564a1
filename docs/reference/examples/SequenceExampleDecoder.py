import pyflowdata as flow
from pyflowdata.io import encode_sequence_example

record = encode_sequence_example({"label": 7}, {"frames": [[1.0, 2.0], [3.0, 4.0]]})
label, frames = flow.SequenceExampleDecoder(
    record, features=["label:int64", "frames=feature_lists/frames:float32[?,2]"]
)
print(label, frames.tolist())

# 7 [[1.0, 2.0], [3.0, 4.0]]
