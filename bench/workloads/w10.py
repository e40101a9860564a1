"""W10, one reader as a plugin and built in: clips of 32 float32 in batches of 256."""

from bench import clips, table
from bench.clips import Clips

DATA = Clips(200)
BATCH_SIZE = 256
LATENCIES = False
BASES = ["plugin.built-in"]
COLUMNS = [table.RATE, table.RANGE, table.MICROSECONDS, table.CPU_MICROSECONDS, table.CHECK]
build = clips.build
