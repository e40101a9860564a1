import numpy as np
import pyflowdata as flow

lines = flow.CSVEncoder([1, 2], [b"cat", b"a, b"])
print([line.tobytes() for line in lines])

# [b'1,cat\n', b'2,"a, b"\n']
