import pyflowdata as flow

with open("poem.txt", "w") as file:
    file.write("so much depends\nupon\n")

line = flow.TextLineReader(files="poem.txt", batch_size=2)
with flow.DataLoader(line) as loader:
    for lines in loader:
        print([line.tobytes() for line in lines])

# [b'so much depends', b'upon']
