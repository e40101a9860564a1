"""What to do, each in one wording, where several tables of this package say it."""

from __future__ import annotations

BATCH_SIZE = "batch_size= of the reader, or .batch(n) of a data set"
DEVICE = (
    'pyflowdata.integrations.torch.TorchLoader(loader, device="cuda") gives batches on a device'
)
FROM_ARRAYS = 'flow.from_arrays({"x": x, "y": y})'
MIX = "flow.mix([a, b])"
ON_DATA = "call it on the data set, which flow.open gives, before its .batch(n)"
ORDER = "the data have the order"
OWN_OP = "flow.register_decoder makes an op of a function of arrays"
SEED = "seed= of the reader, or of .shuffle() of a data set"
SHUFFLE = "shuffle=True of the reader, or .shuffle() of a data set, before .batch(n)"
SPLIT = "split([0.9, 0.1])"

ANY_ORDER = (
    f"{ORDER}: shuffle=True of the reader, or data.shuffle(), data.sample(weights) or "
    "data.select(indices)"
)
