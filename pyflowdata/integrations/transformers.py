"""Loaders as the data sets of transformers.Trainer, and of trainers made of it, as TRL's.

    class Trainer(LoaderMixin, transformers.Trainer):
        pass

    trainer = Trainer(model, args, train_dataset=TorchLoader(...), eval_dataset=TorchLoader(...))
    trainer.train(resume_from_checkpoint=True)

Needs transformers 5 or newer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch.utils.data
import transformers.trainer
from transformers import TrainerCallback
from transformers.trainer import skip_first_batches
from transformers.trainer_callback import ExportableState

from ..errors import InvalidArgumentError
from .torch import DataLoader, TorchLoader
from .torch.accelerate_signal import PreparedLoader

if TYPE_CHECKING:
    from transformers import Trainer as _Trainer
else:
    _Trainer = object

__all__ = ["LoaderMixin", "LoaderStateCallback"]


def __dir__() -> list[str]:
    return sorted(__all__)


# TrainingArguments for the DataLoader that a Trainer makes.
_IGNORED_ARGUMENTS = (
    "auto_find_batch_size",
    "dataloader_num_workers",
    "dataloader_prefetch_factor",
    "dataloader_persistent_workers",
    "dataloader_drop_last",
    "train_sampling_strategy",
)


class LoaderStateCallback(TrainerCallback, ExportableState):
    """Stores the state of the training loader in each checkpoint, and loads it from there.

    The state is in trainer_state.json, the same for all ranks.  On resume_from_checkpoint the
    loader compares its files and attrs with the state, takes over the seed, and raises for
    differences.  LoaderMixin adds a callback; without LoaderMixin, give `Trainer(...,
    callbacks=[LoaderStateCallback()])`.
    """

    def __init__(self) -> None:
        self._loader: Any = None

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return _callback_state(None if self._loader is None else self._loader.state_dict())

    def on_train_begin(
        self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **others: Any
    ) -> None:
        """Loads the state of a resumed checkpoint."""
        self._loader = train_dataloader if _is_ours(train_dataloader) else None
        # A checkpoint that is older than the callback has none.
        stored = state.stateful_callbacks.setdefault(type(self).__name__, _callback_state(None))
        loader_state = stored["attributes"]["loader_state"]
        if self._loader is not None and state.global_step > 0 and loader_state is not None:
            self._loader.load_state_dict(loader_state)
            _resumed.add(self._loader)
        elif self._loader is not None:
            _resumed.discard(self._loader)


def _callback_state(loader_state: Any) -> dict[str, Any]:
    return {"args": {}, "attributes": {"loader_state": loader_state}}


_resumed: weakref.WeakSet[Any] = weakref.WeakSet()  # loaders at the place of a checkpoint


def _rest_of(dataloader: Any, num_batches: int = 0) -> Any:
    """What a Trainer reads of the epoch in which it resumes, from that batch on.

    A loader at that batch is the rest itself.  accelerate would read it with a DataLoader of torch,
    of which the loader's state and random numbers do not know.
    """
    if dataloader in _resumed and dataloader.state_dict()["position"] == num_batches:
        return dataloader
    return skip_first_batches(dataloader, num_batches)


transformers.trainer.skip_first_batches = _rest_of  # the Trainer has no method for it


class LoaderMixin(_Trainer):
    """A Trainer that takes a TorchLoader, or another torch DataLoader, for any of its data sets.

    The loader's batches are dicts with the names of the model's arguments.  Order, batch size and
    last batch are those of the loader; data sets that are no loaders stay with the Trainer.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes the arguments of the Trainer. Trainers of TRL, which look for columns in a data
        set, are given a data set of one row in place of a loader."""
        callbacks = [*(kwargs.get("callbacks") or ())]
        if not any(isinstance(callback, LoaderStateCallback) for callback in callbacks):
            kwargs["callbacks"] = [*callbacks, LoaderStateCallback()]
        names = ("train_dataset", "eval_dataset")
        given = {name: kwargs[name] for name in names if name in kwargs}
        if any(base.__module__.partition(".")[0] == "trl" for base in type(self).__mro__):
            kwargs.update((name, _without_loaders(data)) for name, data in given.items())
        super().__init__(*args, **kwargs)
        for name, data in given.items():
            setattr(self, name, _with_loaders(getattr(self, name), data))

    def get_train_dataloader(self) -> Any:
        """The loader, if train_dataset is one.

        Warns:
            UserWarning: TrainingArguments were given that a loader ignores.
        """
        if not _is_loader(self.train_dataset):
            return super().get_train_dataloader()
        if _is_ours(self.train_dataset):
            _warn_of_arguments(self.args)
        return self.accelerator.prepare(self.train_dataset)

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        """The loader, if eval_dataset is one or names one.

        Raises:
            InvalidArgumentError: Ranks have different numbers of rows in a batch of the loader.
        """
        data = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(data, str):
            data = self.eval_dataset[data]
        if not _is_loader(data):
            return super().get_eval_dataloader(eval_dataset)
        return self._even(data)

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        """The loader, if test_dataset is one; raises as get_eval_dataloader()."""
        if not _is_loader(test_dataset):
            return super().get_test_dataloader(test_dataset)
        return self._even(test_dataset)

    def evaluation_loop(self, dataloader: Any, *args: Any, **kwargs: Any) -> Any:
        """As in the Trainer; a batch's loss is weighted by the number of rows in the loader's
        batches."""
        with _eval_batch_size(self.args, getattr(dataloader, "batch_size", None)):
            return super().evaluation_loop(dataloader, *args, **kwargs)

    def _even(self, loader: Any) -> Any:
        if isinstance(loader, (TorchLoader, DataLoader)) and self.accelerator.num_processes > 1:
            _check_even(loader)
        return self.accelerator.prepare(loader)


def _check_even(loader: TorchLoader[Any] | DataLoader[Any]) -> None:
    """Raises InvalidArgumentError where ranks have different numbers of rows in a batch."""
    steps = loader._epoch_steps
    why = "" if steps is None else steps.why_ranks_differ()
    if why:
        remedy = "give batch() last='pad', whose padding is left out of metrics"
        if isinstance(loader, DataLoader):
            remedy = "give the DataLoader last='pad', whose filling is left out of metrics"
        raise InvalidArgumentError(f"{why}, and evaluation gathers equal parts: {remedy}")


def _is_loader(data: Any) -> bool:
    return isinstance(data, torch.utils.data.DataLoader)


def _is_ours(data: Any) -> bool:
    """Whether accelerate takes it as it is, with its state, as all classes of this package."""
    return isinstance(data, PreparedLoader)


def _without_loaders(data: Any) -> Any:
    """A data set, or a dict of data sets, with one of one row in place of each loader."""
    if isinstance(data, dict):
        return {name: _without_loaders(one) for name, one in data.items()}
    if not _is_loader(data):
        return data
    import datasets

    return datasets.Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]})


def _with_loaders(data: Any, given: Any) -> Any:
    """The data set that a trainer made of _without_loaders(given), with the loaders."""
    if isinstance(given, dict):
        return {name: _with_loaders(data[name], one) for name, one in given.items()}
    return given if _is_loader(given) else data


def _warn_of_arguments(args: Any) -> None:
    defaults = {field.name: field.default for field in dataclasses.fields(args)}
    given = [
        f"{name}={getattr(args, name)!r}"
        for name in _IGNORED_ARGUMENTS
        if name in defaults and getattr(args, name) != defaults[name]
    ]
    if given:
        warnings.warn(
            f"{', '.join(given)}: these are ignored; threads of the loader make the batches, and "
            "order and last batch are attrs of its reader",
            stacklevel=3,
        )


@contextlib.contextmanager
def _eval_batch_size(args: Any, rows: int | None) -> Iterator[None]:
    kept = args.per_device_eval_batch_size
    try:
        args.per_device_eval_batch_size = rows or kept
        yield
    finally:
        args.per_device_eval_batch_size = kept
