"""W4, photographs: 1,984 JPEG files of 500 x 375 and 100 KB, in the order of the files: decoded, a
random part of each resized to 224 x 224, flipped by chance, normalised to float32, channels first;
batches of 64."""

from bench import table
from bench.photos import Photos

DATA = Photos()
BATCH_SIZE = 64
LATENCIES = False
BASES = ["limits.crop"]
COLUMNS = table.PICTURES_AND_COST
