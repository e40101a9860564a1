"""W12, rows of 1 KB in Arrow streams: an int64, a text and 128 float32, in random order and in that
of the files."""

from bench import table
from bench.rows import ArrowRows
from bench.table import Table

DATA = ArrowRows(1000)
BATCH_SIZE = 256
LATENCIES = False
COLUMNS = [table.RATE, table.NS, table.CPU_NS, table.CORES, table.MEMORY, table.CHECK]


def kind(title: str, prefix: str, *bases: str) -> Table:
    ratios = [table.NS]
    ratios += [table.compared(f"/ {base}", f"{base}", table.NS.value) for base in bases]
    ratios += [table.CPU_NS]
    ratios += [table.compared(f"CPU / {base}", f"{base}", table.CPU_NS.value) for base in bases]
    return Table(title, prefix, [*ratios, table.MEMORY, table.CHECK])


TABLES = [
    kind(f"Random rows, batches of {rows}", f"random-{rows}",
         f"limits.random-{rows}", f"pyflowdata.random-{rows}")
    for rows in (256, 64)
]  # fmt: skip
TABLES += [kind("In order, batches of 256", "in-order", "limits.in-order", "pyflowdata.in-order")]
