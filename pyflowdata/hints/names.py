"""Names of PyTorch, torchvision, tf.data, MindData and others: what does the same here."""

from __future__ import annotations

from . import remedies

_GENERATOR = "GeneratorReader(source=dataset, fields=fields, batch_size=n)"
_INTEGRATION = "from pyflowdata.integrations.{} import {}"
_OF_DATA = "a method of data sets, as in flow.open(path).{}"
_COCO = "COCOReader(files=annotations, image_dir=folder, batch_size=n)"
_TENSORS = "Normalize(x, mean=0, std=1)"
_STANDARD = "Affine(x, scale=1 / std, shift=-mean / std), with both of data.column(name)"
_ERROR = "Error is the base class of all errors here"

NAMES = {
    "AUTOTUNE": 'num_threads="auto" and prefetch="auto" of DataLoader',
    "Batch": remedies.BATCH_SIZE,
    "BatchSampler": remedies.BATCH_SIZE,
    "CIFAR10": "CIFARReader(folder, batch_size=n)",
    "CSVDataset": "flow.open(path)",
    "ChainDataset": _OF_DATA.format("concat(other)"),
    "Cifar10Dataset": "CIFARReader(folder, batch_size=n)",
    "CocoDataset": _COCO,
    "CocoDetection": _COCO,
    "Compose": "calls of ops, each with the blob that the one before returned",
    "ConvertImageDtype": _TENSORS,
    "Decode": "ImageDecoder(file)",
    "DistributedSampler": "nothing is needed: each rank gets its part of every batch",
    "FixedLengthRecordDataset": 'RawReader(files=files, dtype="uint8", shape=[n])',
    "FlowError": _ERROR,
    "GeneratorDataset": _GENERATOR,
    "ImageFolder": "ImageFolderReader(folder, batch_size=n)",
    "ImageFolderDataset": "ImageFolderReader(folder, batch_size=n)",
    "IterableDataset": _GENERATOR,
    "JaxLoader": _INTEGRATION.format("jax", "JaxLoader"),
    "JSONReader": "TextLineReader(files=files, batch_size=n)",
    "JsonlReader": "TextLineReader(files=files, batch_size=n)",
    "Lambda": remedies.OWN_OP,
    "MNIST": "IDXReader(files=images, labels=labels, batch_size=n)",
    "ManifestDataset": "ManifestReader(files=file, batch_size=n)",
    "MindDataset": "MindRecordReader(files=files, batch_size=n)",
    "MnistDataset": "IDXReader(files=images, labels=labels, batch_size=n)",
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
    "StandardScaler": _STANDARD,
    "Standardize": _STANDARD,
    "Subset": _OF_DATA.format("select(indices)"),
    "SubsetRandomSampler": f"{remedies.ORDER}: data.select(indices).shuffle()",
    "TFRecordDataset": "TFRecordReader(files=files, batch_size=n)",
    "TensorDataset": remedies.FROM_ARRAYS,
    "TextFileDataset": "TextLineReader(files=files, batch_size=n)",
    "TextLineDataset": "TextLineReader(files=files, batch_size=n)",
    "ToDtype": 'Cast(x, dtype="float32"), or Normalize(x, mean=0, std=1)',
    "ToTensor": _TENSORS,
    "TorchLoader": _INTEGRATION.format("torch", "TorchLoader"),
    "TypeCast": 'Cast(x, dtype="int32")',
    "WeightedRandomSampler": f"{remedies.ORDER}: data.sample(weights)",
    "array": remedies.FROM_ARRAYS,
    "choose_from_datasets": remedies.MIX,
    "default_collate": "nothing is needed; PadBatch(x) pads rows that differ in size",
    "from_dict": remedies.FROM_ARRAYS,
    "from_generator": _GENERATOR,
    "from_list": remedies.FROM_ARRAYS,
    "from_numpy": remedies.FROM_ARRAYS,
    "from_tensor_slices": remedies.FROM_ARRAYS,
    "from_tensors": remedies.FROM_ARRAYS,
    "interleave": remedies.MIX,
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
    "zip": _OF_DATA.format("zip(other)"),
}


def in_modules(name: str) -> str:
    """How what a module of this package has is imported; "": the name does not look so."""
    if name == "integrations":
        return "import one of its modules: " + _INTEGRATION.format("torch", "TorchLoader")
    if name.endswith("Writer"):
        return f"the writers are in pyflowdata.io: from pyflowdata.io import {name}"
    return ""
