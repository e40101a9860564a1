import pyflowdata as flow

print([int(row) for row in flow.HashBucket([b"Rome", b"Paris", b"Rome"], buckets=1000)])

# [950, 355, 950]
