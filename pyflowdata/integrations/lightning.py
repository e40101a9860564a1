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
from lightning.pytorch.loops.fetchers import _PrefetchDataFetcher
from lightning.pytorch.trainer.states import TrainerFn
from lightning.pytorch.utilities import CombinedLoader
from torch.utils.data import IterableDataset, SequentialSampler

from ..errors import WrongUseError, shown
from .torch import DataLoader, TorchLoader

__all__ = ["DataModule"]


def __dir__() -> list[str]:
    return sorted(__all__)


class DataModule(LightningDataModule):
    """Loaders that are made when the Trainer asks for them: in each process, after the process
    group.

    A checkpoint has the state of the training loaders, also of streams, from which the Trainer
    takes a batch ahead.  fit(ckpt_path=...) continues there, in the middle and at the end of an
    epoch.  Epoch e of the Trainer is epoch e of every loader: in training, also after
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
        self._states: list[dict[str, Any]] = []  # to load

    def state_dict(self) -> dict[str, Any]:
        """The places of the training loaders, after the last batch that was used."""
        return {"train": [loader.state_dict() for loader in self._open.get("train", [])]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Keeps the state for the loaders that fit() makes."""
        if self._trainer.state.fn == TrainerFn.FITTING:
            self._states = list(state_dict["train"])

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
            _TrainerLoader(part, self._trainer) for part in parts.flattened
        ]
        if name == "train":
            self._begin(loaders)
        if name == "predict":  # where the Trainer looks at the positions of the rows
            return made
        parts.flattened = loaders
        return parts if parts is made else parts.iterables

    def _begin(self, loaders: list[_TrainerLoader]) -> None:
        """Brings the training loaders to the Trainer's epoch, before it takes a batch ahead."""
        fit_loop = self._trainer.fit_loop
        states, self._states = self._states, []
        if fit_loop.restarting and fit_loop._combined_loader_states_to_load:
            return  # in the middle of an epoch, where the Trainer loads the states, once
        for loader, state in zip(loaders, states or [each.loader.state_dict() for each in loaders]):
            loader.start(fit_loop.epoch_progress.current.processed, state)

    def _close(self, name: str) -> None:
        for loader in self._open.pop(name, []):
            loader.loader.close()


# Keys in the state of a DataLoader that belong to its epoch and position.
_OF_A_PLACE = ("ahead", "sampler", "start")


def _check(name: str, part: object) -> None:
    if isinstance(part, TorchLoader) or (isinstance(part, DataLoader) and _has_len(part)):
        return
    if isinstance(part, DataLoader):
        raise WrongUseError(
            f"the function {name} of the DataModule gave a DataLoader without len(), of which the "
            "Trainer takes a batch ahead that its checkpoint must not count: give a sampler with "
            "len(); of an IterableDataset give the loader itself to the Trainer, "
            "trainer.fit(model, loader)"
        )
    raise WrongUseError(
        f"the function {name} of the DataModule gave {shown(part)}; it must return a TorchLoader, "
        "a DataLoader of pyflowdata.integrations.torch, or a list, a dict or a CombinedLoader of "
        "them"
    )


def _has_len(loader: DataLoader[Any]) -> bool:
    if isinstance(loader.dataset, IterableDataset):
        return False  # its len() is an estimate
    try:
        return len(loader) >= 0
    except (TypeError, NotImplementedError):
        return False


class _TrainerLoader:
    """A TorchLoader or DataLoader for a Trainer: without workers, of which the Trainer would warn,
    and with the Trainer's epochs and state.

    Attributes:
        loader: The original loader; its attributes are found here too.
        sampler, batch_sampler: The object that hears the Trainer's epochs, and None.
    """

    batch_sampler = None

    def __init__(self, loader: TorchLoader[Any] | DataLoader[Any], trainer: Trainer) -> None:
        self.loader = loader
        self.sampler = _EpochListener(self)
        self._trainer = trainer
        self._loaded: int | None = None  # the Trainer's epoch of the state that it loaded

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.loader)

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """The next iterator is of this epoch, at the place of a state of this epoch."""
        loaded, self._loaded = self._loaded, None
        repeats = self._trainer.overfit_batches > 0
        if epoch == loaded and (repeats or self.loader.state_dict()["epoch"] >= epoch):
            return
        if repeats or (loaded is not None and not self._prefetched):
            self.start(epoch, self.loader.state_dict())
        else:
            self.loader.set_epoch(epoch)

    def start(self, epoch: int, state: Mapping[str, Any]) -> None:
        """Goes to the first batch of an epoch of the Trainer, with the seeds of a state."""
        epoch = 0 if self._trainer.overfit_batches > 0 else epoch
        start = {**state, "epoch": epoch, "position": 0}
        if state["epoch"] != epoch or state["position"]:
            for name in _OF_A_PLACE:
                start.pop(name, None)
        self.loader.load_state_dict(start)
        self.loader.set_epoch(epoch)  # also of a sampler

    @property
    def _prefetched(self) -> int:
        """The batches that the Trainer has taken ahead: one if it cannot know the last batch."""
        fetcher = self._trainer.fit_loop._data_fetcher
        return len(fetcher.batches) if isinstance(fetcher, _PrefetchDataFetcher) else 0

    def state_dict(self) -> dict[str, Any]:
        """The state of the loader after the last batch that was used."""
        state, prefetched = self.loader.state_dict(), self._prefetched
        if prefetched > state["position"]:  # at the end of an epoch
            return {**state, "epoch": state["epoch"] - 1, "position": len(self.loader) - prefetched}
        return {**state, "position": state["position"] - prefetched}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._loaded = self._trainer.fit_loop.epoch_progress.current.processed
        self.loader.load_state_dict(state)
        if state["epoch"] == self._loaded:
            self.loader.set_epoch(self._loaded)  # the epoch has no batch after its last one


class _EpochListener(SequentialSampler):
    """Hears the epochs of a Trainer, which keeps a sequential sampler as it is."""

    def __init__(self, loader: _TrainerLoader) -> None:
        self.set_epoch = loader.set_epoch
