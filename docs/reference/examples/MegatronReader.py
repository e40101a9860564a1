import numpy as np
import pyflowdata as flow
from pyflowdata.io import MegatronWriter

with MegatronWriter("corpus.bin", dtype="uint16") as writer:
    writer.write({"tokens": np.array([5, 6, 7], np.uint16)})
    writer.write({"tokens": np.array([8, 9], np.uint16)})

document = flow.MegatronReader(files="corpus.bin", batch_size=2)
with flow.DataLoader(document) as loader:
    for documents in loader:
        print([tokens.tolist() for tokens in documents])

# [[5, 6, 7], [8, 9]]
