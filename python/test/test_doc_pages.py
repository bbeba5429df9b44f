"""The fragments in Python on the pages of doc/ and doc/learn/ run, and print what stands behind them.

Those of a page run in one namespace. What a line `print(...)  # text` prints is that text; a block of text behind a
fragment is all that the fragment prints. A fragment behind a line `<!-- not run: why -->` is only parsed.
"""

import ast
import contextlib
import io
import pathlib
import re

import pytest

import qkv

root = pathlib.Path(__file__).parents[2]
FRAGMENT = re.compile(
    r"(<!-- not run: [^\n]+ -->\n)?```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)


def fragments(page):
    """(the source, whether it runs, the text behind it or None) of each; numbers of lines are those of the page."""
    text = page.read_text()
    for found in FRAGMENT.finditer(text):
        lines_before = text.count("\n", 0, found.start(2))
        yield "\n" * lines_before + found[2], found[1] is None, found[3]


pages = [*sorted((root / "doc").glob("*.md")), *sorted((root / "doc" / "learn").glob("*.md"))]
pages = [page for page in pages if any(fragments(page))]
mechanisms = sorted(
    program.stem for program in (root / "example").glob("*.cc") if "example/example.h" in program.read_text()
)


def expected_of(statement, lines):
    """The comment of a print()."""
    comment = re.search(r"\)  # (.+)$", lines[statement.end_lineno - 1])
    call = getattr(statement, "value", None)
    prints = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "print"
    return comment[1] if comment and prints else None


@pytest.mark.parametrize("page", pages, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for source, runs, text in fragments(page):
        all_printed = ""
        for statement in ast.parse(source, str(page)).body:
            if not runs:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(ast.Module([statement], []), str(page), "exec"), namespace)
            all_printed += printed.getvalue()
            expected = expected_of(statement, source.split("\n"))
            if expected is not None:
                assert printed.getvalue().strip() == expected, f"{page.name}:{statement.lineno}"
        if runs and text is not None:
            assert all_printed == text, f"{page.name}: the text behind a fragment is not what it prints"


@pytest.mark.parametrize("name", mechanisms)
def test_shows_every_mechanism_in_python(name):
    sources = [source for source, runs, _ in fragments(root / "doc" / f"{name}.md") if runs]
    used = {
        node.attr
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "qkv"
    }
    assert used & set(qkv.__all__)
