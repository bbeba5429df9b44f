"""The chapters as notebooks, which run from top to bottom with qkv and NumPy installed.

python3 doc/learn/notebooks.py FOLDER    # FOLDER/softmax.ipynb and so on, one for each chapter

Fragments in Python become cells of code, whose outputs are the blocks of text behind them; all else is text, with
its pictures inside. `make site` writes them beside the pages; python/test/test_learn_notebooks.py executes them.
"""

import base64
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
FRAGMENT = re.compile(
    r"(?<!-->\n)^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<text>.*?)^```$)?", re.MULTILINE | re.DOTALL
)
PICTURE = re.compile(r'!\[([^\]]*)\]\(([^)]+\.svg)\)|<img src="([^"]+\.svg)"[^>]* alt="([^"]*)">')
FRAME = re.compile(r"^<iframe.*?</iframe>\n+<p>.*?</p>$", re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)")


def chapters():
    """The pages in the order of README.md."""
    listed = re.findall(r"^\| \[[^\]]+\]\((\w+\.md)\)", (FOLDER / "README.md").read_text(), re.MULTILINE)
    return [FOLDER / name for name in dict.fromkeys(listed)]


def without_fences(text, change):
    """The text, changed outside of blocks of code."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def link(match):
    """Chapters have notebooks; other pages are not beside them, so only their names remain."""
    label, target = match.groups()
    if target.startswith(("http:", "https:", "attachment:")):
        return match[0]
    chapter = re.fullmatch(r"(\w+)\.md", target)
    return f"[{label}]({chapter[1]}.ipynb)" if chapter and FOLDER / target in chapters() else label


def text_cell(text):
    attachments = {}

    def attached(match):
        description, path = match[1] or match[4], match[2] or match[3]
        picture = (FOLDER / path).resolve().read_bytes()
        name = pathlib.PurePath(path).name
        attachments[name] = {"image/svg+xml": base64.b64encode(picture).decode()}
        return f"![{description}](attachment:{name})"

    text = FORMULA.sub(lambda match: f"$$\n{match[1]}$$", FRAME.sub("", text))
    text = without_fences(text, lambda part: LINK.sub(link, PICTURE.sub(attached, part)))
    cell = {"cell_type": "markdown", "metadata": {}, "source": re.sub(r"\n{3,}", "\n\n", text).strip()}
    return cell | ({"attachments": attachments} if attachments else {})


def code_cell(code, text):
    outputs = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs,
        "source": code.rstrip("\n"),
    }


def split_answers(text):
    """Closes <details> before a cell of code, which it cannot contain, and opens it again behind."""
    closed, opened = text.find("</details>"), text.find("<details>")
    if closed >= 0 and not 0 <= opened < closed:
        text = f"<details><summary>The rest of the answer</summary>\n{text}"
    if text.count("<details>") > text.count("</details>"):
        text += "\n</details>\n"
    return re.sub(r"<details><summary>The rest of the answer</summary>\s*</details>\s*", "", text)


def cells(page):
    text, end, made = page.read_text(), 0, []
    for found in FRAGMENT.finditer(text):
        made += [text_cell(split_answers(text[end : found.start()])), code_cell(found["code"], found["text"])]
        end = found.end()
    made.append(text_cell(split_answers(text[end:])))
    made = [cell for cell in made if cell["source"]]
    return [cell | {"id": f"{page.stem}-{at}"} for at, cell in enumerate(made)]


def notebook(page):
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells(page)}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: notebooks.py FOLDER")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page in chapters():
        (folder / f"{page.stem}.ipynb").write_text(json.dumps(notebook(page), indent=1) + "\n")


if __name__ == "__main__":
    main()
