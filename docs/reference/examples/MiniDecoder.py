import pyflowdata as flow

with open("part-0", "w") as file:
    file.write("1,10\n2,20\n3,30\n")

x, y = flow.MiniDecoder(flow.MiniReader(".", batch_size=3))
with flow.DataLoader(x, y) as loader:
    for x_batch, y_batch in loader:
        print(x_batch.shape, x_batch.ravel(), y_batch.ravel())

# (3, 1) [1. 2. 3.] [10. 20. 30.]
