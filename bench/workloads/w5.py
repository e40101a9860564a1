"""W5, tokens: random windows of 2049 of a flat uint16 file of 1 GB, in batches of 16, as int64."""

from bench import table
from bench.tokens import Tokens

DATA = Tokens(1000)
BATCH_SIZE = 16
LATENCIES = False
BASES = ["limits.windows"]
COLUMNS = [table.WINDOWS, table.MICROSECONDS, table.CPU_MICROSECONDS, table.CORES, table.CHECK]
