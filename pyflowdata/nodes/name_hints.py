"""Messages for unknown names: they give the likely name, or the counterpart of a function or class
of another library.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from opcode import opname

from ..errors import InvalidArgumentError
from ..words import remedies
from ..words.remedies import similar
from .registry import find_op


# ---- Names of other libraries -------------------------------------------------------------------

# Names of PyTorch, torchvision, tf.data, MindData and others -> what does the same in this package.

_GENERATOR = "GeneratorReader(source=dataset, fields=fields, batch_size=n)"
_INTEGRATION = "from pyflowdata.integrations.{} import {}"
_OF_DATA = "a method of data sets, as in flow.open(path).{}"
_COCO = "COCOReader(files=annotations, image_dir=folder, batch_size=n)"
_TENSORS = "Normalize(x, mean=0, std=1)"
_STATISTICS = "Affine(x, **flow.Statistics.fit(data, field).{}())"
_STANDARD = _STATISTICS.format("standardize")
_WORDS = "Lookup(x, vocabulary=flow.Vocabulary.fit(data, field))"
_NUMPY = "a function of NumPy, as in data.map({})"
_LENGTH = "RowLength(x) is the length of each row"
_ERROR = "Error is the base class of all errors here"

NAMES = {
    "AUTOTUNE": 'num_threads="auto" and prefetch="auto" of DataLoader',
    "Batch": remedies.BATCH_SIZE,
    "BatchSampler": remedies.BATCH_SIZE,
    "CIFAR10": "CIFARReader(folder, batch_size=n)",
    "CSVDataset": "flow.open(path)",
    "ChainDataset": _OF_DATA.format("concat(other)"),
    "Cifar10Dataset": "CIFARReader(folder, batch_size=n)",
    "Clip": _NUMPY.format('np.clip, "x", a_min=0, a_max=1'),
    "CocoDataset": _COCO,
    "CocoDetection": _COCO,
    "Compose": "calls of ops, each with the blob that the one before returned",
    "ConvertImageDtype": _TENSORS,
    "DatasetDict": "a dict of data sets, as flow.open(path).split({'train': 0.9, 'test': 0.1})",
    "Decode": "ImageDecoder(file)",
    "DistributedSampler": "nothing is needed: each rank gets its part of every batch",
    "Discretization": "Bucketize(x, boundaries=[18, 65])",
    "Exp": _NUMPY.format('np.exp, "x"'),
    "FixedLengthRecordDataset": 'RawReader(files=files, dtype="uint8", shape=[n])',
    "FlowError": _ERROR,
    "GeneratorDataset": _GENERATOR,
    "Hashing": "HashBucket(x, buckets=1000)",
    "ImageFolder": "ImageFolderReader(folder, batch_size=n)",
    "ImageFolderDataset": "ImageFolderReader(folder, batch_size=n)",
    "IterDataset": "flow.open(path), which a loader reads in order or shuffled",
    "IterableDataset": _GENERATOR,
    "JaxLoader": _INTEGRATION.format("jax", "JaxLoader"),
    "JSONReader": "JSONLinesReader(files=files, fields=['text:str'], batch_size=n)",
    "JsonlReader": "JSONLinesReader(files=files, fields=['text:str'], batch_size=n)",
    "LabelEncoder": _WORDS,
    "Lambda": remedies.OWN_OP,
    "Len": _LENGTH,
    "Length": _LENGTH,
    "Log": _NUMPY.format('np.log, "x"'),
    "MNIST": "IDXReader(files=images, labels=labels, batch_size=n)",
    "ManifestDataset": "ManifestReader(files=file, batch_size=n)",
    "MinMax": _STATISTICS.format("min_max"),
    "MinMaxScaler": _STATISTICS.format("min_max"),
    "MapDataset": "flow.open(path)",
    "MindDataset": "MindRecordReader(files=files, batch_size=n)",
    "MnistDataset": "IDXReader(files=images, labels=labels, batch_size=n)",
    "Ngram": "SlidingWindow(ids, width=n)",
    "NumpySlicesDataset": remedies.FROM_ARRAYS,
    "PyFlowDataError": _ERROR,
    "RandomAdjustSharpness": "AdjustSharpness(x, factor=2, probability=0.5)",
    "RandomAutocontrast": "AutoContrast(x, probability=0.5)",
    "RandomColorAdjust": "ColorJitter(x, brightness=0.4)",
    "RandomCropDecodeResize": "RandomResizedCrop(ImageDecoder(file), size=(h, w))",
    "RandomEqualize": "Equalize(x, probability=0.5)",
    "RandomGrayscale": "Grayscale(x, channels=3, probability=0.1)",
    "RandomHorizontalFlip": "RandomFlip(x, horizontal=0.5)",
    "RandomInvert": "Invert(x, probability=0.5)",
    "RandomPosterize": "Posterize(x, bits=4, probability=0.5)",
    "RandomSampler": f"{remedies.ORDER}: {remedies.SHUFFLE}",
    "RandomSolarize": "Solarize(x, threshold=128, probability=0.5)",
    "RandomVerticalFlip": "RandomFlip(x, horizontal=0, vertical=0.5)",
    "Rescale": "Normalize(x, mean=0, std=1), or Affine(x, scale=[a], shift=[b])",
    "SequentialSampler": f"{remedies.ORDER}: that of the files is there without a shuffle",
    "Shuffle": remedies.SHUFFLE,
    "SimpleImputer": "FillMissing(x, value=flow.Statistics.fit(data, field).mean)",
    "Size": _LENGTH,
    "Sqrt": _NUMPY.format('np.sqrt, "x"'),
    "Stack": "Concat(x, y) of numbers; of arrays, a function of NumPy in data.map()",
    "StandardScaler": _STANDARD,
    "Standardize": _STANDARD,
    "StringLookup": _WORDS,
    "Subset": _OF_DATA.format("select(indices)"),
    "SubsetRandomSampler": f"{remedies.ORDER}: data.select(indices).shuffle()",
    "TFRecordDataset": "TFRecordReader(files=files, batch_size=n)",
    "TensorDataset": remedies.FROM_ARRAYS,
    "TextFileDataset": "TextLineReader(files=files, batch_size=n)",
    "TextLineDataset": "TextLineReader(files=files, batch_size=n)",
    "ToDtype": 'Cast(x, dtype="float32"), or Normalize(x, mean=0, std=1)',
    "ToTensor": _TENSORS,
    "TorchLoader": _INTEGRATION.format("torch", "TorchLoader"),
    "Truncate": "Slice(ids, stop=[n])",
    "TruncateSequencePair": "TruncatePair(first, second, max_length=n)",
    "TypeCast": 'Cast(x, dtype="int32")',
    "WeightedRandomSampler": f"{remedies.ORDER}: data.sample(weights)",
    "array": remedies.FROM_ARRAYS,
    "choose_from_datasets": remedies.MIX,
    "concat": _OF_DATA.format("concat(other)") + "; Concat(x, y) joins rows of blobs",
    "concatenate_datasets": _OF_DATA.format("concat(other)"),
    "default_collate": "nothing is needed; PadBatch(x) pads rows that differ in size",
    "from_dict": remedies.FROM_ARRAYS,
    "from_generator": _GENERATOR,
    "from_list": remedies.FROM_ARRAYS,
    "from_numpy": remedies.FROM_ARRAYS,
    "from_pandas": remedies.FROM_ARROW,
    "from_polars": remedies.FROM_ARROW,
    "from_tensor_slices": remedies.FROM_ARRAYS,
    "from_tensors": remedies.FROM_ARRAYS,
    "interleave": remedies.MIX,
    "interleave_datasets": remedies.MIX,
    "load": "flow.open(path)",
    "load_dataset": "flow.open(path)",
    "load_from_disk": "flow.open(path)",
    "make_csv_dataset": "flow.open(path)",
    "manual_seed": remedies.SEED,
    "map": _OF_DATA.format("map(function)"),
    "open_csv": "flow.open(path)",
    "random_split": _OF_DATA.format(remedies.SPLIT),
    "read_csv": "flow.open(path)",
    "sample_from_datasets": "flow.mix([a, b], weights=[0.9, 0.1])",
    "seed": remedies.SEED,
    "set_seed": remedies.SEED,
    "split": _OF_DATA.format(remedies.SPLIT),
    "train_test_split": _OF_DATA.format(remedies.SPLIT),
    "zip": _OF_DATA.format("zip(other)"),
}


def _in_modules(name: str) -> str:
    """How to import a name that a module of this package has; "": the name does not look so."""
    if name == "integrations":
        return "import one of its modules: " + _INTEGRATION.format("torch", "TorchLoader")
    if name.endswith("Writer"):
        return f"the writers are in pyflowdata.io: from pyflowdata.io import {name}"
    return ""


# ---- Unknown names ------------------------------------------------------------------------------


_FOLDED = {name.casefold(): name for name in NAMES}


def _spelled(name: str) -> str | None:
    """The op with this spelling in the registry: an alias, or its name in snake_case."""
    try:
        return find_op(name).name
    except InvalidArgumentError:
        return None


def _begins(name: str, names: Iterable[str]) -> str | None:
    """The known name that starts with `name`: a reader, if there is one, otherwise the shortest
    name.
    """
    found = sorted(
        (one for one in names if len(name) > 2 and one.startswith(name)),
        key=lambda one: (not one.endswith("reader"), len(one)),
    )
    return found[0] if found else None


def what_is_meant(name: str, known: Iterable[str]) -> str:
    """The counterpart of a name of another library, or the known name that is probably meant; "":
    no name is similar.
    """
    if said := _in_modules(name):
        return said
    elsewhere = _FOLDED.get(name.casefold())
    if elsewhere is not None:
        return f"{elsewhere}: {NAMES[elsewhere]}"
    by_folded = {one.casefold(): one for one in known if not one.startswith("_")}
    near = similar(name.casefold(), by_folded, 0.75)
    begins = _begins(name.casefold().replace("_", ""), by_folded)
    found = begins if begins and begins.endswith("reader") else near or begins
    meant = _spelled(name) or (by_folded[found] if found else None)
    if meant:
        return f"did you mean {meant!r}?"
    likely = similar(name.casefold(), _FOLDED, 0.85)
    return f"{_FOLDED[likely]}: {NAMES[_FOLDED[likely]]}" if likely else ""


def _unknown_name(name: str, known: Iterable[str], place: str = "pyflowdata") -> str:
    """The message for a name that the module `place` does not have."""
    # Tools ask every module for names such as `__wrapped__`: a search for each of these names took
    # a quarter of the time in which pytest collects this package's tests.
    meant = "" if name.startswith("_") else what_is_meant(name, known)
    return f"{place} has no {name!r}" + (f"; {meant}" if meant else "")


def missing(name: str, known: Iterable[str], place: str = "pyflowdata") -> Exception:
    """The exception for `__getattr__` of the module `place`.  For `from module import name` it is
    an ImportError, since Python drops the text of an AttributeError there.
    """
    said, frame = _unknown_name(name, known, place), sys._getframe(2)
    if opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM":
        return ImportError(said, name=place)
    # With a name, but no object, Python adds no suggestion of its own.
    return AttributeError(said, name=name, obj=None)
