import pyflowdata as flow

cells = [b"1", b"-2", b"1.5", b"cat", b""]
print([int(kinds[0]) for kinds in flow.CSVCellTypes(cells)])

# [8, 16, 4, 2, 1]
