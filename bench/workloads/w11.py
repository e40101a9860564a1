"""W11, random order against that of the files, per record, of the same data in the page cache."""

from bench import table
from bench.table import Table
from bench.text import Text

DATA = Text(1000)  # contenders have their own
BATCH_SIZE = 1024
LATENCIES = False


def kind(title: str, name: str) -> Table:
    base = f"pyflowdata.{name}-none"
    columns = [table.NS, table.compared("/ none", base, table.NS.value)]
    columns += [table.CPU_NS, table.compared("CPU / none", base, table.CPU_NS.value)]
    return Table(title, f"{name}-", [*columns, table.CHECK])


TABLES = [
    kind("Lines of two numbers, 23.6 bytes", "lines"),
    kind("TFRecord Examples of 64 float32 and an int64, 303 bytes", "examples"),
    kind("Images of 784 bytes and their labels (IDX)", "images"),
    kind("CSV rows of 64 float32 and an int64, 610 bytes", "wide"),
]
