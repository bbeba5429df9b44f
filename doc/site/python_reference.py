"""The Python package as pages, one for each module: read from its source, so that nothing needs to be built."""

import ast

from markup import code, docstring, escape

TITLES = {
    "_attention": "Attention",
    "_masks": "Masks",
    "_mask_mod": "Custom masks",
    "_parts": "Scores, modifications, normalizations, reweightings",
    "_score_mod": "Custom scores and score modifications",
    "_operations": "Operations",
    "_layer": "Multi-head attention as a layer",
    "_caches": "Caches",
    "_train": "Training",
    "_translator": "Translation",
    "_generator": "Generation and chat",
    "_embedder": "Embeddings of texts",
    "_mask_filler": "Filling masks",
    "_tokenizer": "Tokenizer",
    "_evaluation": "Evaluation of systems",
    "_metrics": "BLEU, chrF and TER",
    "_inspection": "Attention of a model",
    "_cost": "What attention and models cost",
    "_picture": "Pictures",
    "_plot": "Curves of trainings",
    "_core": "The extension module",
    "torch": "PyTorch",
    "huggingface": "Hugging Face",
    "_options": "Options as keyword arguments",
}


def package(root):
    return root / "python" / "qkv"


def source(root, module):
    folder = package(root)
    for path in (folder / f"{module}.py", folder / f"{module}.pyi", folder / module / "__init__.py"):
        if path.exists():
            return ast.parse(path.read_text())
    raise FileNotFoundError(f"python/qkv has no module {module}")


def public_names(root):
    """{name: (module, name there)} of everything in qkv.__all__."""
    tree, imported, public = source(root, "__init__"), {}, []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            imported |= {name.asname or name.name: (node.module, name.name) for name in node.names}
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            public = ast.literal_eval(node.value)
    return {name: imported[name] for name in public}


def definition(tree, name):
    """The last one: overloads come before it."""
    return next((node for node in reversed(tree.body) if getattr(node, "name", None) == name), None)


def signature(node, name, method=False):
    arguments = node.args
    if method and arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = f"{name}({ast.unparse(arguments)}){returns}"
    if len(text) > 100:
        text = f"{name}(\n    " + ast.unparse(arguments).replace(", ", ",\n    ") + f",\n){returns}"
    return text


def members(node, name):
    """The public methods, properties and fields of a class."""
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and not member.target.id.startswith("_"):
            yield f"`{ast.unparse(member)}`"
        if not isinstance(member, ast.FunctionDef) or (member.name.startswith("_") and member.name != "__call__"):
            continue
        decorators = [ast.unparse(decorator) for decorator in member.decorator_list]
        if any("property" in decorator for decorator in decorators):
            yield f"### `{name}.{member.name}`\n\n" + docstring(ast.get_docstring(member))
            continue
        shown = name if member.name == "__call__" else f"{name}.{member.name}"
        yield (
            f"### `{shown}()`\n\n"
            + code(signature(member, shown, True), "python")
            + "\n\n"
            + docstring(ast.get_docstring(member))
        )


def entry(tree, name, there, shown):
    node = definition(tree, there)
    out = [f"## `{shown}`"]
    if isinstance(node, ast.ClassDef):
        start = definition(node, "__init__")
        if start:
            out.append(code(signature(start, shown, True), "python"))
        out += [docstring(ast.get_docstring(node) or (start and ast.get_docstring(start))), *members(node, name)]
    elif isinstance(node, ast.FunctionDef):
        out += [code(signature(node, shown), "python"), docstring(ast.get_docstring(node))]
    return "\n\n".join(part for part in out if part)


def module_title(tree):
    return (ast.get_docstring(tree) or "").strip()


def submodule_names(tree):
    """What a submodule defines or imports for its users."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


def pages(root):
    by_module = {}
    for name, (module, there) in public_names(root).items():
        by_module.setdefault(module, []).append((name, there))
    out = {}
    for module, entries in by_module.items():
        tree = source(root, module)
        parts = [f"# {TITLES[module]}", docstring(module_title(tree))]
        parts += [entry(tree, name, there, f"qkv.{name}") for name, there in entries]
        out[f"reference/python/{module.strip('_')}.md"] = "\n\n".join(part for part in parts if part) + "\n"
    for module in ("torch", "huggingface"):
        tree = source(root, module)
        imported = {
            name.asname or name.name: (node.module, name.name)
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.level
            for name in node.names
        }
        parts = [f"# qkv.{module}: {TITLES[module]}", docstring(module_title(tree))]
        for name in submodule_names(tree):
            where, there = imported.get(name, (None, name))
            home = tree if where is None else source(root, where if module == "torch" else f"{module}/{where}")
            parts.append(entry(home, name, there, f"qkv.{module}.{name}"))
        out[f"reference/python/{module}.md"] = "\n\n".join(part for part in parts if part) + "\n"
    options = source(root, "_options")
    parts = [f"# {TITLES['_options']}", escape(module_title(options))]
    for node in options.body:
        if isinstance(node, ast.ClassDef):
            parts += [f"## {node.name}", code(ast.get_docstring(node) or "", "text")]
    out["reference/python/options.md"] = "\n\n".join(parts) + "\n"
    return out
