"""The progress of a training in a notebook: a bar of HTML that is updated in place. Without IPython: nothing."""

from __future__ import annotations

import html
import sys
from typing import Any

_shown_validations = 4


def progress_bar() -> ProgressBar | None:
    """A bar, if a notebook runs this program. IPython is not imported: a notebook has done so."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return ProgressBar(sys.modules["IPython.display"]) if hasattr(shell, "kernel") else None


class ProgressBar:
    def __init__(self, display: Any) -> None:
        self._html = display.HTML
        self._report: dict[str, Any] = {}
        self._validations: list[dict[str, Any]] = []
        self._warnings: list[str] = []
        self._handle = display.display(self._html(self.text()), display_id=True)

    def add(self, record: dict[str, Any]) -> None:
        """Shows a record of the training's log."""
        if "valid_loss" in record:
            self._validations.append(record)
        elif "loss" in record:
            self._report = record
        elif "warning" in record:
            self._warnings.append(record["text"])
        self._handle.update(self._html(self.text()))

    def text(self) -> str:
        done = self._report.get("progress")
        bar = "" if done is None else f'<progress value="{done:.4f}" max="1" style="width: 20em"></progress> '
        lines = [f"<div>{bar}{html.escape(self._summary())}</div>"]
        lines += [f"<div>{html.escape(_shown(v))}</div>" for v in self._validations[-_shown_validations:]]
        if self._validations:
            lines += [_sample(s) for s in self._validations[-1].get("samples", [])]
        lines += [f"<div><b>warning:</b> {html.escape(w)}</div>" for w in self._warnings]
        return f'<div style="font-family: monospace">{"".join(lines)}</div>'

    def _summary(self) -> str:
        r = self._report
        if not r:
            return "training ..."
        done = "" if r.get("progress") is None else f"{100 * r['progress']:.0f}%  "
        return (
            f"{done}step {r['step']}  epoch {r['epoch']}  loss {r['loss']:.3f}  "
            f"lr {r['learning_rate']:.1e}  {r['tokens_per_s']:,.0f} tokens/s"
        )


def _shown(validation: dict[str, Any]) -> str:
    parts = [f"step {validation['step']}: validation loss {validation['valid_loss']:.4f}"]
    if "valid_bleu" in validation:
        parts.append(f"BLEU {validation['valid_bleu']:.2f}")
    if "valid_accuracy" in validation:
        parts.append(f"accuracy {100 * validation['valid_accuracy']:.1f}%")
    if validation.get("best"):
        parts.append("the best so far")
    return ", ".join(parts)


def _sample(sample: dict[str, str]) -> str:
    rows = "".join(
        f"<tr><td>{name}</td><td style='text-align: left'>{html.escape(sample[name])}</td></tr>"
        for name in ("source", "reference", "hypothesis")
    )
    return f"<table>{rows}</table>"
