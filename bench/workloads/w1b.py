"""W1b, the same text shuffled: ours over all rows, peers in their 65,536 rows or in memory."""

from bench import table
from bench.text import Text

DATA = Text(1000)
BATCH_SIZE = 4096
LATENCIES = True
BASES = ["pyflowdata.in-order", "limits.loader"]
COLUMNS = table.THROUGHPUT
