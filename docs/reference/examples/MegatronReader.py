import numpy as np
import pyflowdata as flow
from pyflowdata.io import MegatronWriter

with MegatronWriter("corpus.bin", dtype="uint16") as writer:
    writer.write({"tokens": np.uint16([5, 6, 7])})
    writer.write({"tokens": np.uint16([8, 9])})

document = flow.MegatronReader(files="corpus.bin", batch_size=2)
with flow.DataLoader(document) as loader:
    for documents in loader:
        print([tokens.tolist() for tokens in documents])

# [[5, 6, 7], [8, 9]]
