import pyflowdata as flow

with open("part-0", "w") as file:
    file.write("1,10\n2,20\n3,30\n")

record = flow.MiniReader(".", batch_size=2)
with flow.DataLoader(record) as loader:
    for batch in loader:
        print(batch.tolist())

# [[1.0, 10.0], [2.0, 20.0]]
# [[3.0, 30.0]]
