"""W9, scaling of ours: threads, prefetch, size of a batch and of the data."""

from bench import table
from bench.table import Table
from bench.text import Text

DATA = Text(250, parts=4)
BATCH_SIZE = 4096
LATENCIES = True
TABLES = [
    Table(
        "Threads on as many cores; and one thread beside its caller, who helps, on all cores",
        "threads",
        [
            table.RATE,
            table.compared("/ threads-1", "pyflowdata.threads-1"),
            table.CPU,
            table.CORES,
            table.CHECK,
        ],
    ),
    Table(
        "Batches made ahead",
        "prefetch",
        [table.RATE, table.CPU, table.P50, table.P99, table.MEMORY, table.CHECK],
    ),
    Table(
        "Rows of a batch",
        "batch",
        [table.MICROSECONDS, table.CPU_MICROSECONDS, table.RATE, table.MEMORY, table.CHECK],
    ),
    Table(
        "Size of the data: time to the first batch, with a new index, and memory",
        "data",
        [
            table.SIZE,
            table.OPEN,
            table.FIRST,
            table.OPEN_MEMORY,
            table.MEMORY,
            table.RATE,
            table.CHECK,
        ],
    ),
]
