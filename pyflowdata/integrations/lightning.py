"""Lightning: a DataModule whose loaders are exact in every run of a Trainer.

    from pyflowdata.integrations.lightning import DataModule

    data = DataModule(train=make_train, val=make_val)    # functions that return a TorchLoader
    trainer.fit(model, data, ckpt_path="last.ckpt")

Needs lightning 2.4 or newer: `pip install pyflowdata[lightning]`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.utilities import CombinedLoader
from torch.utils.data import SequentialSampler

from ..errors import WrongUseError, shown
from .torch import DataLoader, TorchLoader

__all__ = ["DataModule"]


def __dir__() -> list[str]:
    return sorted(__all__)


class DataModule(LightningDataModule):
    """Loaders that are made when the Trainer asks for them: in each process, after the process
    group.

    Epoch e of the Trainer is epoch e of every loader: in training, also after
    reload_dataloaders_every_n_epochs made the loaders again; in validation, after any number of
    sanity steps.  With overfit_batches all epochs are epoch 0.

    A loader is closed when the Trainer is done with it.  A subclass may add prepare_data() and
    setup().
    """

    def __init__(
        self,
        *,
        train: Callable[[], Any] | None = None,
        val: Callable[[], Any] | None = None,
        test: Callable[[], Any] | None = None,
        predict: Callable[[], Any] | None = None,
    ) -> None:
        """Takes functions, each of which returns a TorchLoader, or a DataLoader of
        pyflowdata.integrations.torch, or a list, a dict or a CombinedLoader of them. The functions
        are called later."""
        super().__init__()
        functions = {"train": train, "val": val, "test": test, "predict": predict}
        for name, function in functions.items():
            if function is not None:  # an existing hook means that there are such loaders
                setattr(self, f"{name}_dataloader", functools.partial(self._make, name, function))
        self._open: dict[str, list[_TrainerLoader]] = {}

    def teardown(self, stage: str) -> None:
        """Closes the loaders."""
        for name in {"fit": ("train", "val"), "validate": ("val",)}.get(stage, (stage,)):
            self._close(name)

    @property
    def _trainer(self) -> Trainer:
        if self.trainer is None:
            raise WrongUseError(
                "this DataModule has no Trainer: give it to trainer.fit(model, data), or call the "
                "function that makes the loader"
            )
        return self.trainer

    def _make(self, name: str, function: Callable[[], Any]) -> Any:
        """The loaders of a function, for a hook of the Trainer."""
        self._close(name)
        made = function()
        parts = made if isinstance(made, CombinedLoader) else CombinedLoader(made, "max_size")
        for part in parts.flattened:
            _check(name, part)
        self._open[name] = loaders = [
            _TrainerLoader(part, self._trainer, is_trained=name == "train")
            for part in parts.flattened
        ]
        if name == "predict":  # where the Trainer looks at the positions of the rows
            return made
        parts.flattened = loaders
        return parts if parts is made else parts.iterables

    def _close(self, name: str) -> None:
        for loader in self._open.pop(name, []):
            loader.loader.close()


def _check(name: str, part: object) -> None:
    if not isinstance(part, (TorchLoader, DataLoader)):
        raise WrongUseError(
            f"the function {name} of the DataModule gave {shown(part)}; it must return a "
            "TorchLoader, a DataLoader of pyflowdata.integrations.torch, or a list, a dict or a "
            "CombinedLoader of them"
        )


class _TrainerLoader:
    """A TorchLoader or DataLoader for a Trainer, which neither warns of the workers that it lacks
    nor replaces its sampler.

    Attributes:
        loader: The original loader, which follows the fit loop; its attributes are found here too.
        sampler, batch_sampler: The object that hears the Trainer's epochs, and None.
    """

    batch_sampler = None

    def __init__(
        self, loader: TorchLoader[Any] | DataLoader[Any], trainer: Trainer, *, is_trained: bool
    ) -> None:
        self.loader = loader
        self.sampler = _EpochListener(self)
        self._trainer, self._is_trained = trainer, is_trained

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.loader)

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """The next iterator is of this epoch; one for training asks the fit loop."""
        if not self._is_trained:
            self.loader.set_epoch(0 if self._trainer.overfit_batches > 0 else epoch)

    def state_dict(self) -> dict[str, Any]:
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.loader.load_state_dict(state)


class _EpochListener(SequentialSampler):
    """Hears the epochs of a Trainer, which keeps a sequential sampler as it is."""

    def __init__(self, loader: _TrainerLoader) -> None:
        self.set_epoch = loader.set_epoch
