"""W2a, TFRecord in file order: 2,000,000 Examples of 64 float32 and an int64, checksums checked,
batches of 1024."""

from bench import table
from bench.examples import Examples

DATA = Examples(606)
BATCH_SIZE = 1024
LATENCIES = False
BASES = ["limits.examples"]
COLUMNS = table.RATE_AND_BATCH
