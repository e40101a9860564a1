"""W1c, wide text in file order: 64 float32 and an int64 a row, batches of 1024 rows."""

from bench import table
from bench.wide_text import WideText

DATA = WideText(600)
BATCH_SIZE = 1024
LATENCIES = False
BASES: list[str] = []
COLUMNS = table.RATE_AND_BATCH
