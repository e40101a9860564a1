"""W9, scaling of ours: threads, prefetch, batch size, size of the data."""

from bench import table
from bench.data import Text

DATA = Text(250, parts=4)
BATCH_SIZE = 4096
LATENCIES = True
LIMIT = None
COLUMNS = [
    table.RATE,
    table.MICROSECONDS,
    table.CPU,
    table.CORES,
    table.OPEN,
    table.FIRST,
    table.OPEN_MEMORY,
    table.MEMORY,
    table.CHECK,
]
