"""The types of the package, as type checkers read them."""

import ast
import inspect
import pathlib
import subprocess
import sys

import pytest

import qkv

stub = pathlib.Path(qkv.__file__).with_name("_core.pyi")


def test_public_names_are_those_that_are_exported():
    modules = {name for name, thing in vars(qkv).items() if inspect.ismodule(thing)}
    assert sorted({name for name in vars(qkv) if not name.startswith("_")} - modules) == sorted(qkv.__all__)
    assert stub.with_name("py.typed").exists()


def definitions(body):
    """The functions of a module or class by name: of one with overloads, those."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            overloaded = any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)
            same = found.setdefault(node.name, [])
            if overloaded or not any(d.decorator_list for d in same):
                same.append(node)
    return found


def public_definitions():
    for name in qkv.__all__:
        thing = getattr(qkv, name)
        if not thing.__module__.startswith("qkv._") or thing.__module__ == "qkv._core":
            continue
        tree = ast.parse(inspect.getsource(sys.modules[thing.__module__]))
        if inspect.isfunction(thing):
            yield from ((name, node) for node in definitions(tree.body)[name])
        elif not issubclass(thing, qkv.Part) and thing is not qkv.Mask:  # those are made by functions
            (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
            for method, nodes in definitions(body).items():
                if not method.startswith("_") or method == "__init__":
                    yield from ((f"{name}.{method}", node) for node in nodes)


@pytest.mark.parametrize(
    "name, node", [pytest.param(*pair, id=f"{pair[0]}:{pair[1].lineno}") for pair in public_definitions()]
)
def test_public_functions_have_types(name, node):
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    untyped = [a.arg for a in arguments if a is not None and a.annotation is None and a.arg not in ("self", "cls")]
    assert untyped == [] and node.returns is not None


def names_of(tree):
    """{"Picture.svg", "heatmap", ...}"""
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    methods = {
        f"{c.name}.{f.name}"
        for c in tree.body
        if isinstance(c, ast.ClassDef)
        for f in c.body
        if isinstance(f, ast.FunctionDef)
    }
    return functions | methods


def test_the_stub_of_the_extension_module_names_all_of_it():
    core = vars(qkv._core)
    there = {name for name, thing in core.items() if not inspect.isclass(thing) and not name.startswith("_")}
    for name, thing in core.items():
        if inspect.isclass(thing):
            there |= {f"{name}.{member}" for member in vars(thing) if not member.startswith("_")}
    assert {name for name in names_of(ast.parse(stub.read_text())) if "._" not in name} == there


def test_the_stub_is_what_nanobind_makes(tmp_path):
    pytest.importorskip("nanobind")
    made = tmp_path / "_core.pyi"
    make = [sys.executable, "-m", "nanobind.stubgen", "-q", "-i", str(stub.parent), "-m", "_core", "-o", str(made)]
    subprocess.run(make, check=True)
    assert ast.dump(ast.parse(stub.read_text())) == ast.dump(ast.parse(made.read_text()))
