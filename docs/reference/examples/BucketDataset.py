import pyflowdata as flow
from pyflowdata.io import MegatronWriter

with MegatronWriter("corpus.bin", dtype="int32") as writer:
    for length in (3, 1, 2, 4):
        writer.write({"tokens": [length] * length})
data = flow.open("corpus.bin")
batches = data.batch_by_tokens(8, field="tokens", seed=1)
with flow.DataLoader(batches.blobs) as loader:
    print([[len(row) for row in batch["tokens"]] for batch in loader])

# [[4, 2], [3, 1]]
