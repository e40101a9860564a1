import pyflowdata as flow

a, b = flow.MindRecordReader(files="blobs.mindrecord", batch_size=2)  # written by MindSpore
with flow.DataLoader(a, b) as loader:
    texts, numbers = next(iter(loader))
    print([text.tobytes() for text in texts], [row.tolist() for row in numbers])

# [b'x', b'\x00x'] [[0], [0, 1]]
