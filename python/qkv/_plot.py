"""The curves of trainings, in a notebook or in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _core
from ._train import TrainResult

_Run = str | os.PathLike[str] | TrainResult


class Curves:
    """Curves of trainings. A notebook shows them; save() writes .svg, .png or .html."""

    __slots__ = ("_curves",)

    def __init__(self, curves: _core.Curves) -> None:
        self._curves = curves

    def svg(self) -> str:
        return self._curves.svg()

    def html(self) -> str:
        return self._curves.html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes .svg, .png or .html, by the end of the name. An existing file is replaced as a whole."""
        self._curves.save(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": self.svg()}

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return '<qkv.Curves; save("x.svg") or .html>'


def plot(runs: _Run | Sequence[_Run]) -> Curves:
    """Losses, BLEU or accuracy and learning rate of one or several trainings, in one picture.

        result = qkv.train(model="small", train="pairs.tsv")
        qkv.plot(result)                                   # a notebook shows it
        qkv.plot(["small", "large"]).save("curves.svg")    # folders of models, or their log.jsonl

    A training that is running can be drawn from another process.
    """
    several = [runs] if isinstance(runs, (str, os.PathLike, TrainResult)) else list(runs)
    return Curves(_core.training_curves([run.model if isinstance(run, TrainResult) else run for run in several]))
