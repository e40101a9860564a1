import pyflowdata as flow

with open("train.csv", "w") as file:
    file.write("height,width,kind\n1.5,2,cat\n1.25,3,dog\n")

size, kind = flow.CSVReader(
    files="train.csv", columns=["height|width:float32", "kind:bytes"], batch_size=2
)
with flow.DataLoader(size, kind) as loader:
    for sizes, kinds in loader:
        print(sizes.tolist(), [kind.tobytes() for kind in kinds])

# [[1.5, 2.0], [1.25, 3.0]] [b'cat', b'dog']
