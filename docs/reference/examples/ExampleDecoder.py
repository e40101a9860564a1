import pyflowdata as flow
from pyflowdata.io import encode_example

records = [encode_example({"x": [0.5, i], "name": b"no. %d" % i}) for i in range(2)]
x, name = flow.ExampleDecoder(records, features=["x:float32[2]", "name:bytes"])
print([row.tolist() for row in x], [row.tobytes() for row in name])

# [[0.5, 0.0], [0.5, 1.0]] [b'no. 0', b'no. 1']
