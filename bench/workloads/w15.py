"""W15, texts to packs: 20 MB of JSON lines, tokenized by a byte-pair vocabulary of 4,000, in rows
of 2048 tokens; batches of 8."""

from bench import table
from bench.documents import Documents

DATA = Documents(20)
BATCH_SIZE = 8
LATENCIES = False
BASES = ["pyflowdata.chunk", "tokenizers.encode_batch"]
COLUMNS = [
    table.TOKENS, table.CPU_TOKENS, table.compared("CPU / encode_batch",
    "tokenizers.encode_batch", table.CPU_TOKENS.value), table.CORES, table.FIRST, table.MEMORY,
    table.CHECK,
]  # fmt: skip
