"""W0, the engine: what a batch of a few tiny records costs, through MiniReader and MiniDecoder."""

from bench import table
from bench.text import Text

DATA = Text(16, short=1.0)
BATCH_SIZE = 10  # contenders set their own
LATENCIES = False
BASES: list[str] = []
COLUMNS = [table.MICROSECONDS, table.CPU_MICROSECONDS, table.CORES, table.CHECK]
