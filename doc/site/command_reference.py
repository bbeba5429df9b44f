"""The options of the command as pages, from `qkv help`, which prints its option tables."""

import os
import re
import subprocess

from markup import code, escape


def run(command, *arguments):
    environment = {**os.environ, "COLUMNS": "100", "LC_ALL": "C"}
    return subprocess.run(
        [command, *arguments], capture_output=True, text=True, check=True, env=environment
    ).stdout.replace(str(command), "qkv")


def commands(command):
    """{name: what it does}"""
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", run(command, "--help"), re.MULTILINE)[1]
    return dict(re.findall(r"^  (\S+) +(.+)$", listed, re.MULTILINE))


COLUMN = 30  # where descriptions begin, unless the flag is longer


def entry(lines):
    """A flag, and its description beside it or below."""
    beside = len(lines[0]) > COLUMN and lines[0][COLUMN - 1] == " "
    head, first = (lines[0][:COLUMN], lines[0][COLUMN:]) if beside else (lines[0], "")
    text = " ".join([first.strip(), *(line.strip() for line in lines[1:])]).strip()
    return f"`{head.strip()}`\n: {escape(text) or '(no description)'}"


def page(command, name, summary):
    out, lines, group = [f"# qkv {name}", escape(summary[0].upper() + summary[1:]) + "."], [], ""
    entries = []

    def close():
        if lines:
            entries.append(entry(lines))
            lines.clear()

    def end_group():
        close()
        if entries:
            out.append("\n\n".join(entries))
            entries.clear()

    for line in run(command, "help", name).split("\n")[1:]:
        if re.match(r"Usage: ", line):
            out.append(code(line.removeprefix("Usage: "), "sh"))
        elif re.match(r"\S.*:$", line):
            end_group()
            group = line[:-1]
            out.append(f"## {escape(group)}")
            if group == "Examples":
                break
        elif group and re.match(r"  \S", line):
            close()
            lines.append(line)
        elif lines and line.strip():
            lines.append(line)
        elif line.strip():
            out.append(escape(line))
    end_group()
    footer = run(command, "help", name).partition("\nExamples:\n")[2]
    examples, _, rest = footer.partition("\n\n")
    if examples:
        out.append(code(re.sub("^  ", "", examples, flags=re.MULTILINE), "sh"))
    if rest.strip():
        out.append(code(rest.strip("\n"), "text"))
    return "\n\n".join(out) + "\n"


def pages(command):
    """The text of every page by its path."""
    return {
        f"reference/command/{name}.md": page(command, name, summary) for name, summary in commands(command).items()
    }
