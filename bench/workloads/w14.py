"""W14, Parquet: 400,000 rows of 1 KB, an int64, a text and 128 float32, in row groups of 5000, all
columns; in order and shuffled by row groups, batches of 256."""

from bench import table
from bench.rows import ParquetRows

DATA = ParquetRows(411)
BATCH_SIZE = 256
LATENCIES = False
BASES = ["pyflowdata.in-order", "pyarrow.iter_batches"]
COLUMNS = [
    table.RATE, table.NS, table.CPU_NS, table.compared("CPU / iter_batches",
    "pyarrow.iter_batches", table.CPU_NS.value), table.CORES, table.MEMORY, table.CHECK,
]  # fmt: skip
