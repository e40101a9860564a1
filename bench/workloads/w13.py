"""W13, JSON lines in file order: 3 of 12 fields, text, nested text and float64; 1024 a batch."""

from bench import table
from bench.json_lines import JsonLines

DATA = JsonLines(300)
BATCH_SIZE = 1024
LATENCIES = False
BASES = ["duckdb.read_json", "simdjson.parse"]
COLUMNS = [
    table.RATE,
    table.RANGE,
    table.CPU_RATE,
    table.compared("CPU / stdlib", "stdlib.json", table.CPU_RATE.value),
    table.CORES,
    table.MEMORY,
    table.CHECK,
]
