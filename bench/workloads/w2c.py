"""W2c, OFRecord in file order: 2,000,000 records of 64 float32 and an int64, batches of 1024."""

from bench import table
from bench.examples import OFRecords

DATA = OFRecords(606)
BATCH_SIZE = 1024
LATENCIES = False
BASES: list[str] = []
COLUMNS = table.RATE_AND_BATCH
