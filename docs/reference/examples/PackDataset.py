import pyflowdata as flow
from pyflowdata.io import MegatronWriter

with MegatronWriter("corpus.bin", dtype="int32") as writer:
    for length in (3, 1, 2, 4):
        writer.write({"tokens": [length] * length})
data = flow.open("corpus.bin")
packed = data.pack(5, field="tokens")
print(len(packed), [record["tokens"].tolist() for record in packed])

# 2 [[3, 3, 3, 2, 2], [1, 4, 4, 4, 4]]
