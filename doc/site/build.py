"""The pages of the site: those of the repository in place, and a reference made from its sources.

    build.py BUILD OUTPUT       BUILD has cli/qkv; OUTPUT gets the Markdown files that Sphinx reads

Pages keep their paths, so links between them work as they are. A link to a public header leads to its place in the
reference, one to another file or folder to a page that shows it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import command_reference
import cpp_reference
import python_reference
from markup import code, escape

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "THIRD_PARTY.md"]
GUIDES = [
    "training", "first_training", "evaluation", "recurrent", "published_models", "chat", "speculation", "weights",
    "embedding", "stability", "cost", "beyond_one_machine", "speed",
]  # fmt: skip
REFERENCE = ["doc/files.md", "doc/errors.md", "doc/glossary.md"]  # after that of the sources
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".sh": "sh", ".toml": "toml", ".js": "js", ".json": "json"}
LINK = re.compile(r'(\]\(|src="|href=")([^)"#\s]*)(#[^)"\s]*)?([)"])')


def own_files():
    """Paths of the project's own files; those of git, or of a copy without it."""
    return subprocess.run([ROOT / "script" / "sources"], capture_output=True, text=True, check=True).stdout.split("\n")


def is_fence(line):
    return line.lstrip().startswith(("```", "~~~"))


def without_fences(text):
    """(line, whether it is in a block of code)"""
    inside = False
    for line in text.split("\n"):
        if is_fence(line):
            inside = not inside
        yield line, inside or is_fence(line) or line.startswith("    ")


class Site:
    def __init__(self, build, output):
        self.output = output
        self.files = {file for file in own_files() if not file.startswith("doc/site/")}
        self.folders = {str(parent) for file in self.files for parent in pathlib.PurePath(file).parents}
        self.headers = set(cpp_reference.public_headers(ROOT))
        self.shown = set()  # files and folders that have a page of their own
        self.made = (
            cpp_reference.pages(ROOT) | python_reference.pages(ROOT) | command_reference.pages(build / "cli" / "qkv")
        )
        self.broken = []
        self.learn = self.order("doc/learn/README.md") if "doc/learn/README.md" in self.files else []

    def write(self, path, text):
        (self.output / path).parent.mkdir(parents=True, exist_ok=True)
        (self.output / path).write_text(text)

    def copied(self, path):
        return path.endswith(".md") and (path.startswith("doc/") or path in PROJECT or path.count("/") > 1)

    def target(self, page, link, anchor):
        """Where a link of a page leads in the site."""
        path = os.path.normpath(os.path.join(os.path.dirname(page), link))
        if path in self.headers:
            place, name = cpp_reference.page_of(path)
            return os.path.relpath(place, os.path.dirname(page) or "."), "#" + name
        if self.copied(path) and path in self.files:
            self.pages.add(path)
            return link, anchor
        if path.endswith((".svg", ".png", ".css", ".html")) and path in self.files:
            return link, anchor
        if path in self.files or path in self.folders:
            self.shown.add(path)
            return os.path.relpath(self.page_of_file(path), os.path.dirname(page) or "."), ""
        self.broken.append(f"{page}: {link} is a broken link")
        return link, anchor

    def page_of_file(self, path):
        return f"source/{path}.md" if path in self.files else f"source/{path}/index.md"

    def with_links(self, page, text):
        def replaced(match):
            before, link, anchor, after = match[1], match[2], match[3] or "", match[4]
            if not link or re.match(r"\w+:", link):
                return match[0]
            return before + "".join(self.target(page, link, anchor)) + after

        lines = (line if in_code else LINK.sub(replaced, line) for line, in_code in without_fences(text))
        return "\n".join(lines)

    def copy_pages(self):
        self.pages, done = {p for p in self.files if p.startswith("doc/") and p.endswith(".md")} | set(PROJECT), set()
        while self.pages - done:
            page = min(self.pages - done)
            done.add(page)
            text = self.with_links(page, (ROOT / page).read_text())
            if page in self.learn:
                text += f'\n<p><a href="notebook/{pathlib.PurePath(page).stem}.ipynb">This chapter as a notebook</a></p>\n'
            listed = page.startswith("doc/") or page in PROJECT
            self.write(page, text if listed else f"---\norphan: true\n---\n{text}")
        for file in self.files:
            if file.startswith("doc/") and file.endswith((".svg", ".png")):
                (self.output / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, self.output / file)

    def show_files(self):
        done = set()
        while self.shown - done:
            path = min(self.shown - done)
            done.add(path)
            page = self.page_of_file(path)
            if path in self.files:
                try:
                    text = (ROOT / path).read_text()
                except UnicodeDecodeError:
                    text = "(not a text file)"
                body = code(text, LANGUAGES.get(pathlib.PurePath(path).suffix, "text"))
            else:
                inside = sorted({f.removeprefix(path + "/").split("/")[0] for f in self.files if f.startswith(path + "/")})
                lines = []
                for name in inside:
                    place, anchor = self.target(page, os.path.relpath(f"{path}/{name}", os.path.dirname(page)), "")
                    lines.append(f"- [{escape(name)}]({place}{anchor})")
                body = "\n".join(lines)
            self.write(page, f"---\norphan: true\n---\n# {escape(path)}\n\n{body}\n")

    def order(self, page):
        """The pages of doc/ in the order in which a page links to them."""
        text = (ROOT / page).read_text()
        folder = os.path.dirname(page)
        found = (os.path.normpath(os.path.join(folder, link)) for link in re.findall(r"\]\(([^)#:]+\.md)", text))
        return [path for path in dict.fromkeys(found) if os.path.dirname(path) == folder and path != page]

    def toctree(self, paths, hidden=True, caption=""):
        names = "\n".join("/" + path.removesuffix(".md") for path in paths)
        options = (":hidden:\n" if hidden else "") + ":maxdepth: 1\n" + (f":caption: {caption}\n" if caption else "")
        return f"```{{toctree}}\n{options}\n{names}\n```\n"

    def write_indexes(self):
        guides = [f"doc/{name}.md" for name in GUIDES]
        mechanisms = [p for p in self.order("doc/README.md") if p not in guides and p not in REFERENCE]
        rest = {p for p in self.files if re.fullmatch(r"doc/\w+\.md", p)} - {*guides, *mechanisms}
        mechanisms += sorted(rest - {"doc/README.md", *REFERENCE})
        self.append_toctree("doc/README.md", mechanisms)
        if self.learn:
            self.append_toctree("doc/learn/README.md", self.learn)
        self.write("guides.md", "# Guides\n\n" + self.toctree(guides, hidden=False))
        parts = {"cpp": "C++", "python": "Python", "command": "The command"}
        for part, title in parts.items():
            paths = sorted(p for p in self.made if p.startswith(f"reference/{part}/"))
            intro = (pathlib.Path(__file__).parent / "text" / f"{part}.md").read_text()
            extra = ""
            if part == "cpp":
                extra = self.toctree(paths) + "\n" + "\n".join(
                    f"- [{escape(h)}](/{cpp_reference.page_of(h)[0]}#{cpp_reference.page_of(h)[1]})"
                    for h in sorted(self.headers)
                )
            else:
                extra = self.toctree(paths, hidden=False)
            self.write(f"reference/{part}/index.md", f"# {title}\n\n{intro}\n{extra}\n")
        self.write("project.md", "# Project\n\n" + self.toctree(PROJECT, hidden=False))
        index = (pathlib.Path(__file__).parent / "text" / "index.md").read_text()
        reference = [f"reference/{part}/index.md" for part in parts] + REFERENCE
        captions = {
            "Learn": ["doc/learn/README.md"] if self.learn else [],
            "Mechanisms": ["doc/README.md", "guides.md"],
            "Reference": reference,
            "Project": ["project.md"],
        }
        trees = [self.toctree(paths, caption=caption) for caption, paths in captions.items() if paths]
        self.write("index.md", "\n".join([index, *trees]))

    def append_toctree(self, page, paths):
        with open(self.output / page, "a") as file:
            file.write("\n" + self.toctree(paths))

    def write_all(self):
        for path, text in self.made.items():
            self.write(path, text)
        self.copy_pages()
        self.show_files()
        self.write_indexes()


def main():
    build, output = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(output, ignore_errors=True)
    site = Site(build, output)
    site.write_all()
    for line in site.broken:
        print(f"site: {line}", file=sys.stderr)
    sys.exit(bool(site.broken))


if __name__ == "__main__":
    main()
