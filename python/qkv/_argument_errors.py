"""One line for an argument that the extension module cannot take: its name, what it must be, what was given.

nanobind's own message is its whole signature and the types of all arguments, without the name of the wrong one.
name_arguments() wraps the functions of the package and the methods of its classes; nothing is looked at until
such an error is raised, and then the arguments are compared with the annotations of the function.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import operator
import re

from ._foreign_names import foreign_name

_expected = {
    "int": "an integer of 64 bits",
    "float": "a number",
    "bool": "True or False",
    "str": "a text",
    "Sequence[int]": "a sequence of integers of 64 bits",
}


def name_arguments(namespace, names):
    """Wraps the functions of a module with these names, and the methods of its classes."""
    for name in names:
        found = namespace[name]
        if inspect.isclass(found):
            _wrap_methods(found)
        elif callable(found):
            namespace[name] = _wrapped(found, name)


def _wrap_methods(owner):
    if dataclasses.is_dataclass(owner):
        return
    for name, method in list(vars(owner).items()):
        kind = type(method) if isinstance(method, (classmethod, staticmethod)) else None
        function = method.__func__ if kind else method
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            wrapped = _wrapped(function, owner.__name__ if name == "__init__" else f"{owner.__name__}.{name}")
            setattr(owner, name, kind(wrapped) if kind else wrapped)


def with_named_arguments(function):
    """The same for a function of tensors: torch.compile sees the function itself."""
    import torch

    named = _wrapped(function, function.__name__)

    @functools.wraps(function)
    def call(*args, **kwargs):
        return (function if torch.compiler.is_compiling() else named)(*args, **kwargs)

    return call


def _wrapped(function, name):
    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            message = _message(function, args, kwargs, str(error))
            if message is None:
                raise
            raise TypeError(f"{name}{message}") from None

    return call


def _message(function, args, kwargs, message):
    if "incompatible function arguments" in message:
        wrong = next(filter(None, (_wrong(*x) for x in _arguments(function, args, kwargs))), None)
        types = ", ".join([type(x).__name__ for x in args] + [f"{k}={type(x).__name__}" for k, x in kwargs.items()])
        # Without a culprit the words of nanobind stay: a function that called this one may know it by its own name.
        return f": {wrong}" if wrong else f": incompatible function arguments of the types {types}"
    unknown = re.fullmatch(r"\S+\(\) got an unexpected keyword argument '(\w+)'", message)
    if unknown and unknown[1] in kwargs:
        known = list(_annotations(function))
        near = [x for x in known if len(x) > 3 and (x in unknown[1] or unknown[1] in x)]  # beam in num_beams
        near += difflib.get_close_matches(unknown[1], known, 1)
        hint = foreign_name(unknown[1], known)
        hint = hint or (f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}")
        return f"() got an unexpected keyword argument {unknown[1]!r}; {hint}"
    return None


def _annotations(function):
    """The annotations of its arguments, with those of the TypedDict of its **options."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # of the extension module: "set_threads(count: int) -> None"
        return dict(re.findall(r"(\w+): (\w+)", (function.__doc__ or "").partition("->")[0]))
    found = {}
    for p in parameters:
        options = re.fullmatch(r"Unpack\[(\w+)\]", str(p.annotation))
        if options:
            found.update(function.__globals__[options[1]].__annotations__)
        elif p.name != "self" and p.kind is not p.VAR_KEYWORD:
            found[p.name] = p.annotation if isinstance(p.annotation, str) else ""
    return {name: getattr(kind, "__forward_arg__", kind) for name, kind in found.items()}


def _arguments(function, args, kwargs):
    """Names, values and annotations."""
    annotations = _annotations(function)
    try:
        names = list(inspect.signature(function).parameters)[: len(args)]
    except ValueError:
        names = list(annotations)
    given = {**dict(zip(names, args)), **kwargs}
    return [(name, value, annotations.get(name, "")) for name, value in given.items()]


def _wrong(name, value, annotation):
    """The error of an argument; None if there is none, or if its annotation says nothing."""
    kinds = annotation.split(" | ")
    known = [kind for kind in kinds if kind in _expected]
    if (value is None and "None" in kinds) or len(known) < len([kind for kind in kinds if kind != "None"]):
        return None
    if any(_fits(name, value, kind) for kind in known):
        return None
    shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
    wanted = " or ".join(_expected[kind] for kind in known)
    if name == "seed" and known == ["int"]:
        wanted = "an integer from 0 to 2**64 - 1"
    return f"{name} must be {wanted}, got {shown}"


def _fits(name, value, kind):
    if kind == "Sequence[int]":
        try:
            return not isinstance(value, str) and all(_fits(name, x, "int") for x in value)
        except TypeError:
            return False
    if kind == "int":
        try:
            number = operator.index(value)
        except TypeError:
            return False
        return 0 <= number < 2**64 if name == "seed" else -(2**63) <= number < 2**63
    if kind == "float":
        return isinstance(value, (int, float)) or hasattr(value, "__float__")
    return isinstance(value, {"bool": bool, "str": str}[kind])
