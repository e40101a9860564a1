"""W17, several rows of a record and one of several: the records of W16 made into 0 to 7 parts by a
Python function, and into windows of 16 records, a new one every 4; batches of 256."""

from bench import table
from bench.records import Parts
from bench.table import Table

DATA = Parts(6.4)
BATCH_SIZE = 256
LATENCIES = False
COLUMNS = [table.NS, table.CPU_NS, table.CORES, table.MEMORY, table.CHECK]


def kind(title: str, prefix: str, base: str) -> Table:
    ratio = table.compared(f"CPU / {base}", base, table.CPU_NS.value)
    return Table(title, prefix, [*COLUMNS[:2], ratio, *COLUMNS[2:]])


TABLES = [
    kind("Parts; a record of the table is a part", "parts", "pyflowdata.parts"),
    kind("Windows; a record of the table is a window", "windows", "pyflowdata.windows"),
]
