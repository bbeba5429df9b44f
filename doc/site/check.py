"""Checks the site: links, resources, what the reference must have, and the console of a browser.

    check.py BUILD HTML

Without Chromium (Debian: chromium) the last part is skipped with a message.
"""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import command_reference
import cpp_reference
import python_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Page(html.parser.HTMLParser):
    """The anchors, links, resources and text of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.resources, self.images_without_text, self.text = set(), [], [], [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("img", "script", "iframe") and given.get("src"):
            self.resources.append(given["src"])
        elif tag == "link" and given.get("rel") == "stylesheet":
            self.resources.append(given["href"])
        if (tag == "img" and not given.get("alt")) or (tag == "iframe" and not given.get("title")):
            self.images_without_text.append(given.get("src"))

    def handle_data(self, data):
        self.text.append(data)


def links(folder, pages):
    for path, page in pages.items():
        for link in page.links + page.resources:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.resources and url.scheme != "data":
                    yield f"{path}: {link} is loaded from the network"
                continue
            target = (
                os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path)))
                if url.path
                else path
            )
            if not (folder / target).exists():
                yield f"{path}: {link} is a broken link"
            elif (
                url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors
            ):
                yield f"{path}: {target} has no #{url.fragment}"
        for image in page.images_without_text:
            yield f"{path}: {image} has no text alternative"


def reference(pages, build):
    """What the sources have must be on its page."""
    for header in cpp_reference.public_headers(ROOT):
        path, anchor = cpp_reference.page_of(header)
        if anchor not in pages[path.replace(".md", ".html")].anchors:
            yield f"{header} is not in the reference"
    for name, (module, _) in python_reference.public_names(ROOT).items():
        page = pages[f"reference/python/{module.strip('_')}.html"]
        if f"qkv.{name}" not in page.text:
            yield f"qkv.{name} is not in the reference"
    command = build / "cli" / "qkv"
    for name in command_reference.commands(command):
        text = "".join(pages[f"reference/command/{name}.html"].text)
        for flag in re.findall(
            r"^  (?:-\w, )*(--[\w-]+)", command_reference.run(command, "help", name), re.MULTILINE
        ):
            if flag not in text:
                yield f"{flag} of qkv {name} is not in the reference"


def features():
    """Every row of the table of features in README.md has a link."""
    table = (ROOT / "README.md").read_text().partition("## Features")[2].strip().partition("\n\n")[0]
    for row in table.split("\n")[2:]:
        if "](" not in row:
            yield f"README.md: the feature '{row.split('|')[1].strip()}' links to no page"


def browser_of_this_machine():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def console(folder, pages):
    """What the scripts of the pages report while a browser opens one after another in a frame."""
    browser = browser_of_this_machine()
    if not browser:
        print("check-site: the console was SKIPPED, there is no chromium (apt-get install chromium)")
        return
    addresses = [(folder / path).as_uri() for path in pages] + [(folder / "search.html").as_uri() + "?q=softmax"]
    with tempfile.TemporaryDirectory() as scratch:
        frames = pathlib.Path(scratch) / "frames.html"
        frames.write_text(
            f"<iframe id=f width=1000 height=800></iframe><script>const all = {addresses}; let at = 0;"
            "const f = document.getElementById('f'); f.onload = () => setTimeout(next, 20);"
            "function next() { if (at < all.length) f.src = all[at++]; else document.title = 'done'; }"
            "next();</script>"
        )
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--log-level=0",
             f"--user-data-dir={scratch}/profile", "--virtual-time-budget=600000", "--dump-dom", frames.as_uri()],
            capture_output=True, text=True, timeout=500,
        )  # fmt: skip
    if "<title>done</title>" not in done.stdout:
        yield "the browser did not open all pages"
    for line in done.stderr.split("\n"):
        if "CONSOLE" in line:
            yield line[line.index("CONSOLE") :]


# What a reader does with a widget, and what must then be true.
WIDGETS = {
    "attention": """
        const before = get("out").textContent, handle = get("handle-k0");
        handle.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", shiftKey: true}));
        check(get("out").textContent !== before, "an arrow key moves a key");
        get("position").value = 1; get("mask").value = "causal"; get("mask").dispatchEvent(new Event("input"));
        check(document.querySelectorAll("tr.masked").length === 2, "causal masks two keys of position 1");
        get("heads").value = "2"; get("heads").dispatchEvent(new Event("input"));
        check(get("rows").children.length === 8 && get("out").textContent.includes(" and "), "two heads");""",
    "tiles": """
        for (let i = 0; i < 4; ++i) get("step").click();
        const [tiled, all] = get("end").textContent.match(/-?[0-9.]+(?=;|$)/g);
        check(get("steps").children.length === 4 && tiled === all, "tiles give the softmax of all keys");
        get("back").click();
        check(get("end").textContent === "1 tiles left", "a step back");
        get("visible").value = 2; get("visible").dispatchEvent(new Event("input"));
        for (let i = 0; i < 4; ++i) get("step").click();
        check(get("steps").textContent.includes("skipped"), "masked tiles are skipped");""",
    "translation": """
        const type = (text) => { get("sentence").value = text; get("sentence").dispatchEvent(new Event("input")); };
        check(get("out").textContent === "2026-11-20", "the first date is translated");
        type("1. M\\u00e4rz 1984");
        check(get("out").textContent === "1984-03-01", "a typed date is translated: " + get("out").textContent);
        const columns = get("map").children[0].children;
        check(get("map").children.length === 13 && columns.length === 15, "a row for each token");
        const before = get("row").textContent;
        get("map").children[2].dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
        const after = get("row").textContent;
        check(after !== before && after.includes(" looks at "), "an arrow key moves the row");
        get("part").value = "encoder"; get("part").dispatchEvent(new Event("input"));
        check(get("map").children.length === 15, "encoder self-attention is square");
        type("5 % 2001");
        check(get("note").textContent.endsWith("%"), "an unknown character is named");""",
}


def widgets(folder):
    """The widgets at a width of 400 pixels, used by keyboard."""
    browser = browser_of_this_machine()
    for name, steps in WIDGETS.items() if browser else ():
        with tempfile.TemporaryDirectory() as scratch:
            copy = shutil.copytree(folder / "doc" / "learn" / "widget", pathlib.Path(scratch) / "widget")
            test = (
                "<script>const failed = []; const check = (holds, what) => { if (!holds) failed.push(what); };"
                "try {" + steps + " document.body.style.width = '400px';"
                "check(document.body.scrollWidth <= 400, `fits 400 pixels: ${document.body.scrollWidth}`); }"
                "catch (error) { failed.push(String(error)); }"
                "document.title = 'tested: ' + failed.join('; ');</script></html>"
            )
            page = copy / f"{name}.html"
            page.write_text(page.read_text().replace("</html>", test))
            done = subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=400,800",
                 f"--user-data-dir={scratch}/profile", "--dump-dom", page.as_uri()],
                capture_output=True, text=True, timeout=100,
            )  # fmt: skip
        found = re.search(r"<title>tested: (.*?)</title>", done.stdout)
        if not found or found[1]:
            yield f"widget {name}: {found[1] if found else 'it did not run'}"


def main():
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    pages = {str(path.relative_to(folder)): Page(path) for path in sorted(folder.rglob("*.html"))}
    failed = [
        *links(folder, pages),
        *reference(pages, build),
        *features(),
        *console(folder, pages),
        *widgets(folder),
    ]
    for line in failed[:60]:
        print(f"check-site: {line}", file=sys.stderr)
    if not failed:
        print(f"check-site: {len(pages)} pages")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
