import pyflowdata as flow
from pyflowdata.io import TarWriter

with TarWriter("train.tar") as writer:
    writer.write({"__key__": "a", "txt": b"a cat", "cls": 0})
    writer.write({"__key__": "b", "txt": b"a dog", "cls": 1})

text, number = flow.TarReader(files="train.tar", fields=["txt", "cls"], batch_size=2)
with flow.DataLoader(text, flow.DecodeClass(number)) as loader:
    for texts, classes in loader:
        print([text.tobytes() for text in texts], classes)

# [b'a cat', b'a dog'] [0 1]
