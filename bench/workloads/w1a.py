"""W1a, text in file order: two float64 a row, batches of 4096 rows."""

from bench import table
from bench.text import Text

DATA = Text(1000)
BATCH_SIZE = 4096
LATENCIES = True
BASES = ["limits.loader"]
COLUMNS = table.THROUGHPUT
