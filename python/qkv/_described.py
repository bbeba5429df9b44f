"""Options are defined once, in tables in C++; they become the signature of a function and a part of its help.

A row is (name, default, type, unit, help); a default that is None is left to the model or the corpus.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

Row = tuple[str, Any, str, str, str]


def add_options(function: Callable[..., Any], rows: list[Row], *more: str) -> None:
    """Puts the options in the place of **options in the signature, and behind the help of the function."""
    text = inspect.cleandoc(function.__doc__ or "")
    function.__doc__ = "\n\n".join([text, "\n".join(help_lines(rows)), *map(_as_arguments, more)]) + "\n"
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kind)
        for name, value, kind, *_ in rows
    ]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]


def help_lines(rows: list[Row]) -> list[str]:
    """ "beam  beam size; 1: greedy search [4]" """
    width = max(len(name) for name, *_ in rows)
    return [f"{name:{width}}  {_as_arguments(help)} [{_shown(value, unit)}]" for name, value, _, unit, help in rows]


def _as_arguments(text: str) -> str:
    """A flag of the command that a text names is an argument of the function: --n-best is n_best."""
    return re.sub(r"--([a-z][a-z-]*)", lambda flag: flag[1].replace("-", "_"), text)


def _shown(value: Any, unit: str) -> str:
    if "|" in unit and not isinstance(value, bool):
        return f"{unit}: {value}" if value is not None else unit
    return unit if value in ("", (), None) else str(value)
