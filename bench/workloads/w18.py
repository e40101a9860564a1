"""W18, a mix to packs: 100 sources of token rows in Arrow streams, 80 MB of int32 together, in
equal shares, each row once, in packs of 2048; batches of 8."""

from bench import table
from bench.rows import TokenRows

DATA = TokenRows(80)
BATCH_SIZE = 8
LATENCIES = False
BASES = ["pyflowdata.best_fit"]
COLUMNS = [
    table.TOKENS, table.CPU_TOKENS, table.compared("CPU / best_fit", "pyflowdata.best_fit",
    table.CPU_TOKENS.value), table.CORES, table.FIRST, table.MEMORY, table.CHECK,
]  # fmt: skip
