"""Training a model: on sentence pairs, or a language model on text."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, _notebook
from ._described import add_options
from ._options import TrainOptions
from ._translator import Translator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Validation:
    """Measures on the held-out sentence pairs or lines of text."""

    loss: float
    perplexity: float
    bleu: float | None  # of models that translate
    accuracy: float | None = None  # of masked models: the fraction of masked tokens that are predicted correctly


@dataclass(frozen=True)
class TrainResult:
    """Result of a training, whose model is in the folder."""

    model: str
    stop_reason: str  # max_steps, max_epochs, max_time, patience or interrupted
    steps: int
    epochs: int
    loss: float  # per predicted token, of the last updates
    validation: Validation | None  # of the model in the folder
    best_step: int
    seconds: float
    tokens_per_s: float
    peak_bytes: int

    def translator(self) -> Translator:
        return Translator(self.model)

    def log(self) -> list[dict[str, Any]]:
        """The lines of training/log.jsonl: a report every report_every updates, and one for each validation."""
        with open(os.path.join(self.model, "training", "log.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


def train(
    *,
    model: str | os.PathLike[str],
    recipe: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    **options: Unpack[TrainOptions],
) -> TrainResult:
    """Trains a model as `qkv train` does, with the same options: on sentence pairs, or a language model on text.

        result = qkv.train(model="my-model", train="pairs.tsv.gz")
        result.translator().translate("I am cold.")

        qkv.train(model="stories", train="stories.txt", architecture="causal")  # or "masked"
        qkv.Generator("stories").generate("Once upon a time")

    model      folder of the model
    recipe     sizes of the model: transformer-tiny, -small, -base or -big, or the recurrent bahdanau or luong; the
               default depends on the size of the corpus
    resume     resume the training in the folder, or start one if there is none; an option that cannot change on
               resume and has another value is a ValueError
    overwrite  train anew in a folder that has a model, which stays until the new one can replace it
    quiet      print nothing but warnings on stderr; in a notebook, show no progress bar either
    callback   called with each record of the log, a dict: reports ("step", "loss", "learning_rate", ...),
               validations ("step", "valid_loss", "valid_bleu", "samples", ...) and warnings. If it returns
               False, the training ends as by Ctrl-C, but without a KeyboardInterrupt. An exception in it
               ends the training in the same way and is then raised.

    In a notebook a bar shows the progress, and the validations with their samples.

    Ctrl-C ends the current update, saves everything and raises KeyboardInterrupt; resume=True continues, with
    the same bits as without the interruption.
    """
    bar = None if quiet else _notebook.progress_bar()
    observer = _Observer([f for f in (bar and bar.add, callback) if f])
    on_record = observer if observer.functions else None
    result, number = _core.train(
        os.fspath(model), recipe, resume, overwrite, quiet or bar is not None, dict(options), on_record
    )
    if observer.error:
        raise observer.error
    if number:
        signal.raise_signal(number)  # everything is saved: the signal is handled as before the training
    if result["validation"] is not None:
        result["validation"] = Validation(*result["validation"])
    return TrainResult(os.fspath(model), **result)


class _Observer:
    """Calls functions with the records of a training, and stops it when one returns False or fails."""

    def __init__(self, functions: list[Callable[[dict[str, Any]], Any]]) -> None:
        self.functions = functions
        self.error: BaseException | None = None

    def __call__(self, text: str) -> bool:
        record = json.loads(text)
        try:
            # All of them are called, whatever one returns.
            answers = [function(record) for function in self.functions]
            return all(answer is not False for answer in answers)
        except BaseException as error:  # raised again once everything is saved
            self.error = error
            return False


add_options(train, _core.train_options(), _core.attention_mechanisms_help())
