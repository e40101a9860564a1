import pyflowdata as flow

with open("part-0", "w") as file:
    file.write("1,10\n2,20\n3,30\n")

record, mask = flow.MiniReader(".", batch_size=2, last_batch="pad", with_mask=True)
with flow.DataLoader(record, mask) as loader:
    for records, is_real in loader:
        print(records.tolist(), is_real.tolist())

# [[1.0, 10.0], [2.0, 20.0]] [True, True]
# [[3.0, 30.0], [3.0, 30.0]] [True, False]
