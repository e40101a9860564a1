"""W16, a function of records: 400,000 records of a float64 and an int64 in memory, of which a
Python function computes a third field; batches of 256."""

from bench import table
from bench.records import Records
from bench.table import Table

DATA = Records(6.4)
BATCH_SIZE = 256
LATENCIES = False
COLUMNS = [
    table.NS, table.CPU_NS, table.compared("CPU / pyflowdata.map", "pyflowdata.map",
    table.CPU_NS.value), table.CORES, table.MEMORY, table.CHECK,
]  # fmt: skip
TABLES = [Table("In memory", "map", COLUMNS)]
