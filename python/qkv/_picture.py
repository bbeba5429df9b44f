"""Attention as pictures, in a notebook or in a file."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import torch_of


class Picture:
    """A picture of attention. A notebook shows it; save() writes it as .svg, .png, .html or .json.

    In a notebook up to 12 small panels are an SVG, which is kept when the notebook is saved or printed. More or
    larger ones are the page that save("x.html") writes, in a frame: one panel at a time is large, and the pointer
    shows the weight of a cell.
    """

    __slots__ = ("_picture",)
    _few, _small = 12, 50_000  # panels, cells of all of them

    def __init__(self, picture: _core.Picture) -> None:
        self._picture = picture

    def svg(self) -> str:
        return self._picture.svg()

    def html(self) -> str:
        """An interactive page in one file."""
        return self._picture.html()

    def json(self) -> str:
        return self._picture.json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes .svg, .png, .html or .json, by the end of the name. An existing file is replaced as a whole.

        A .png is drawn by the program rsvg-convert (Debian: librsvg2-bin).
        """
        self._picture.save(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        kind = "image/svg+xml" if self._is_small() else "text/html"
        return {"text/plain": repr(self), kind: self._repr_html_()}

    def _repr_html_(self) -> str:
        """For notebooks and reports that show only HTML."""
        if self._is_small():
            return self.svg()
        # In a frame, so that styles and scripts of the page and of the notebook do not mix.
        return (
            f'<iframe srcdoc="{html.escape(self.html())}" sandbox="allow-scripts" '
            'style="width: 100%; height: 640px; border: 0"></iframe>'
        )

    def _is_small(self) -> bool:
        return self._picture.panels <= self._few and self._picture.cells <= self._small

    def __repr__(self) -> str:
        count = self._picture.panels
        what = "matrix" if count == 1 else "matrices"
        return f'<qkv.Picture of {count} {what}; save("x.svg"), .png, .html or .json>'


def heatmap(
    weights: Any,
    rows: Sequence[Any] = (),
    columns: Sequence[Any] = (),
    *,
    title: str = "",
    caption: str = "",
    per_line: int = 4,
) -> Picture:
    """Weights as cells, darker for larger weights.

    weights: one matrix (T, S), the heads (H, T, S) of a layer, all layers (N, H, T, S), or several matrices
    {title: (T, S), ...}, per_line of them side by side. rows and columns: labels of the T queries and S keys, by
    default their indices; caption: what rows and columns are.

        out, weights = qkv.attention(q, k, v, return_weights=True)
        qkv.heatmap(weights[0], tokens, tokens).save("heads.svg")
    """
    if isinstance(weights, Mapping):
        panels = [(str(name), _numbers(matrix)) for name, matrix in weights.items()]
        return Picture(_core.heatmaps(panels, _labels(rows), _labels(columns), title, caption, per_line))
    return Picture(_core.heatmap(_numbers(weights), _labels(rows), _labels(columns), title, caption, False))


def head_view(
    weights: Any, rows: Sequence[Any] = (), columns: Sequence[Any] = (), *, title: str = "", caption: str = ""
) -> Picture:
    """Weights as lines from queries (left) to keys (right), one panel for each head (Vig, 2019)."""
    return Picture(_core.heatmap(_numbers(weights), _labels(rows), _labels(columns), title, caption, True))


def _labels(labels: Sequence[Any]) -> list[str]:
    return [str(label) for label in labels]


def _numbers(weights: Any) -> np.ndarray:
    if torch_of(weights):
        weights = weights.detach().float().cpu().numpy()
    return np.asarray(weights, dtype=np.float32)
