"""The public C++ headers as pages, one for each folder: what their comments say, and their declarations."""

import re

from markup import code, comment, escape

UMBRELLAS = ("qkv/attention.h", "qkv/qkv.h")
DECLARED = re.compile(r"(?:struct|class|enum class|using)\s+(\w+)|([\w:]+|operator\S+)\s*\((?!\))|(\w+)\(\)")


def public_headers(root):
    """Every header that an umbrella includes."""
    found = {}
    for umbrella in UMBRELLAS:
        for header in re.findall(r'^#include "([^"]+)"', (root / umbrella).read_text(), re.MULTILINE):
            found[header] = None
    return sorted(set(found) - set(UMBRELLAS))


def page_of(header):
    """The page of a header, by its folder, and its place there."""
    folder = header.removeprefix("qkv/").rpartition("/")[0].replace("/", "-")
    return f"reference/cpp/{folder}.md", re.sub(r"[^a-z0-9]+", "-", header.lower())


def is_comment(line):
    return line.startswith("//")


def opening(lines):
    """The comment at the beginning, and the lines behind the includes."""
    end = next((at for at, line in enumerate(lines) if not is_comment(line)), len(lines))
    return [line[2:].removeprefix(" ") for line in lines[:end]], lines[end:]


def without_internals(lines):
    """The lines of the namespaces that are for users."""
    out, depth = [], 0
    for line in lines:
        named = re.match(r"namespace (?:[\w:]*::)?(internal|detail|\{)", line)
        if depth == 0 and named:
            depth = line.count("{") - line.count("}")
        elif depth:
            depth += line.count("{") - line.count("}")
        elif not re.match(r"#|namespace |\}  // namespace|\}$", line) or line == "}":
            out.append(line)
    return out


def items(lines):
    """(comment, code) of each group of declarations; an empty line or a comment outside of braces ends it."""
    notes, body, depth = [], [], 0
    for line in [*lines, ""]:
        if depth == 0 and body and (not line.strip() or is_comment(line)):
            yield notes, body
            notes, body = [], []
        if depth == 0 and is_comment(line):
            notes.append(line[2:].removeprefix(" "))
        elif line.strip():
            body.append(line)
            text = re.sub(r"//.*", "", line)
            depth += sum(map(text.count, "{(")) - sum(map(text.count, "})"))
        elif depth:
            body.append("")


def names(body):
    """What a group declares, in order."""
    found = []
    for line in body:
        if line.startswith((" ", "}", "//", "template")):
            continue
        match = DECLARED.search(line)
        if match and (name := match[1] or match[2] or match[3]) not in found:
            found.append(name)
    return found


def section(root, header):
    intro, rest = opening((root / header).read_text().split("\n"))
    out = [f"({page_of(header)[1]})=", f"## {escape(header)}", code(f'#include "{header}"', "cpp"), comment(intro)]
    for notes, body in items(without_internals(rest)):
        declared = names(body)
        if declared:
            out.append("### " + ", ".join(f"`{name}`" for name in declared[:4]) + (" ..." if declared[4:] else ""))
        out += [comment(notes), code("\n".join(body), "cpp")]
    return "\n\n".join(part for part in out if part)


def pages(root):
    """The text of every page by its path."""
    by_page = {}
    for header in public_headers(root):
        by_page.setdefault(page_of(header)[0], []).append(header)
    out = {}
    for path, headers in sorted(by_page.items()):
        folder = headers[0].rpartition("/")[0]
        links = "\n".join(f"- [{escape(header)}](#{page_of(header)[1]})" for header in headers)
        out[path] = "\n\n".join([f"# {folder}/", links, *(section(root, header) for header in headers)]) + "\n"
    return out
