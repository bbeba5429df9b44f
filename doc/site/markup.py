"""Comments and docstrings as Markdown: text is escaped, what is indented is code."""

import re
import textwrap

SPECIAL = re.compile(r"([\\`*_{}\[\]<>$|#~])")


def escape(text):
    """Text in which Markdown reads nothing as markup."""
    return re.sub(r"^(\s*)([-+]|\d+\.)(?=\s)", r"\1\\\2", SPECIAL.sub(r"\\\1", text))


def code(text, language):
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def looks_like_code(text):
    return bool(re.search(r";\s*(//.*)?$|[\w>]\(.*\)|^\s*#include", text, re.MULTILINE))


def comment(lines, language="cpp"):
    """Lines of a comment without markers: paragraphs, code (indented by four), definitions (`Word   text`)."""
    out, paragraph, block, definition = [], [], [], False

    def flush():
        nonlocal definition
        if paragraph:
            out.append(" ".join(escape(line.strip()) for line in paragraph))
            if definition:
                word, rest = re.match(r"(\S+)\s+(.*)", out[-1]).groups()
                out[-1] = f"**{word}** {rest}"
            paragraph.clear()
            definition = False
        while block and not block[-1].strip():
            block.pop()
        if block:
            text = textwrap.dedent("\n".join(block))
            out.append(code(text, language if looks_like_code(text) else "text"))
            block.clear()

    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            if block:
                block.append("")
            else:
                flush()
        elif definition and indent >= 4:
            paragraph.append(line)
        elif indent >= 4:
            if paragraph:
                flush()
            block.append(line)
        else:
            if block or re.match(r"[A-Z][a-z]+ {2,}\S", line):
                flush()
                definition = bool(re.match(r"[A-Z][a-z]+ {2,}\S", line))
            paragraph.append(line)
    flush()
    return "\n\n".join(out)


def docstring(text):
    """A docstring in NumPy's form: its sections, with the arguments as definitions."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", text or "", flags=re.MULTILINE)
    out = [comment(parts[0].split("\n"), "python")]
    for title, body in zip(parts[1::2], parts[2::2]):
        out.append(f"**{title}**")
        out.append(
            definitions(body) if re.search(r"^\S.*\n +\S", body, re.MULTILINE) else comment(body.split("\n"))
        )
    return "\n\n".join(part for part in out if part)


def definitions(body):
    """`name : type` and what is indented below, of each argument."""
    entries = []
    for line in body.strip("\n").split("\n"):
        if line and not line.startswith(" "):
            entries.append((line, []))
        elif entries:
            entries[-1][1].append(line)
    out = []
    for head, lines in entries:
        name, _, kind = head.partition(" : ")
        text = comment(textwrap.dedent("\n".join(lines)).split("\n"), "python") or "\\"
        out.append(f"`{name}`{' ' + escape(kind) if kind else ''}\n: " + text.replace("\n", "\n  "))
    return "\n\n".join(out)
