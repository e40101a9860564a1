"""W3, images: 60,000 of 28 x 28 bytes and their labels, scaled to float32,
reshuffled each epoch, in batches of 64; 5 epochs together."""

from bench import table
from bench.digits import Images

DATA = Images()
BATCH_SIZE = 64
LATENCIES = False
BASES = ["numpy.take"]
COLUMNS = [
    table.IMAGES,
    table.MICROSECONDS,
    table.CPU_MICROSECONDS,
    table.CORES,
    table.MEMORY,
    table.CHECK,
]
