"""W4u, the same photographs whole: decoded and resized to 224 x 224, uint8; batches of 64."""

from bench import table
from bench.photos import Photos

DATA = Photos()
BATCH_SIZE = 64
LATENCIES = False
BASES = ["limits.resize", "limits.resize-fast"]
COLUMNS = table.PICTURES_AND_COST
