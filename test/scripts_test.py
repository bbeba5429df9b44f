"""Tests of scripts that no build calls: python3 test/scripts_test.py"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "doc" / "site"))
import check  # noqa: E402
import cpp_reference  # noqa: E402
import markup  # noqa: E402
import python_reference  # noqa: E402


def run(script, *arguments):
    return subprocess.run([ROOT / "script" / script, *map(str, arguments)], capture_output=True, text=True)


class InFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path


class Diagrams(unittest.TestCase):
    def test_are_what_their_program_draws(self):
        done = subprocess.run(
            ["python3", ROOT / "doc" / "learn" / "diagrams.py", "--check"], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class Site(unittest.TestCase):
    """What `make site` makes of the sources, without Sphinx; script/site --check tests the HTML."""

    def test_the_reference_has_every_public_header(self):
        pages = cpp_reference.pages(ROOT)
        for header in cpp_reference.public_headers(ROOT):
            page, place = cpp_reference.page_of(header)
            self.assertIn(f"({place})=\n\n## ", pages[page])
            opening = cpp_reference.opening((ROOT / header).read_text().split("\n"))[0]
            self.assertTrue(opening, f"{header} says nothing")

    def test_the_reference_has_every_python_name(self):
        pages = python_reference.pages(ROOT)
        for name, (module, _) in python_reference.public_names(ROOT).items():
            self.assertIn(f"## `qkv.{name}`\n\n", pages[f"reference/python/{module.strip('_')}.md"])
        for module in ("torch", "huggingface"):
            for name in python_reference.submodule_names(python_reference.source(ROOT, module)):
                self.assertIn(f"## `qkv.{module}.{name}`\n\n", pages[f"reference/python/{module}.md"])

    def test_every_feature_of_the_readme_links_to_a_page(self):
        self.assertEqual(list(check.features()), [])

    def test_comments_become_text_code_and_definitions(self):
        made = markup.comment(["A * b_c", "", "    f(x);", "", "Errors   of two", "         lines"])
        self.assertEqual(made, "A \\* b\\_c\n\n```cpp\nf(x);\n```\n\n**Errors** of two lines")


class BenchCompare(InFolder):
    def attention(self, name, **median):
        rows = [{"case": c, "dtype": "fp32", "direction": "forward", "ms_median": ms} for c, ms in median.items()]
        return self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def google(self, name, runs):
        return self.write(name, json.dumps({"context": {}, "benchmarks": runs}))

    def test_prints_new_over_old_of_each_common_row(self):
        old, new = self.attention("old", a=2.0, b=8.0, c=1.0), self.attention("new", a=1.0, b=16.0, d=1.0)
        done = run("bench-compare", old, new)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = {line.split()[0]: line.split() for line in done.stdout.splitlines()[1:]}
        self.assertEqual((lines["a"][-1], lines["b"][-1]), ("0.500", "2.000"))
        self.assertIn("2 rows, geometric mean 1.000", done.stdout)
        self.assertIn("only in old: c fp32 forward", done.stdout)
        self.assertIn("only in new: d fp32 forward", done.stdout)

    def test_ends_with_1_where_a_row_is_slower_than_the_limit(self):
        old, new = self.attention("old", a=2.0, b=8.0), self.attention("new", a=1.0, b=16.0)
        self.assertEqual(run("bench-compare", "--limit", 1.5, old, new).returncode, 1)
        self.assertEqual(run("bench-compare", "--limit", 2.5, old, new).returncode, 0)
        self.assertEqual(run("bench-compare", "--limit", 1.5, "--rows", "^a", old, new).returncode, 0)

    def test_takes_the_median_of_google_benchmark_in_its_unit(self):
        repeated = [
            {"name": "row/8", "run_name": "row/8", "run_type": "iteration", "real_time": t, "time_unit": "us"}
            for t in (900.0, 1000.0, 5000.0)
        ]
        median = {
            "name": "row/8_median",
            "run_name": "row/8",
            "run_type": "aggregate",
            "aggregate_name": "median",
            "real_time": 1000.0,
            "time_unit": "us",
        }
        old = self.google("old/kernel.json", [*repeated, median])
        new = self.google("new/kernel.json", [{"name": "row/8", "real_time": 3e6, "time_unit": "ns"}])
        for one, other in ((old, new), (old.parent, new.parent)):
            done = run("bench-compare", one, other)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[1].split()[-3:], ["1.0000", "3.0000", "3.000"])

    def test_names_a_file_that_is_not_a_result(self):
        good, bad = self.attention("good", a=1.0), self.write("bad", "no result")
        for arguments, message in (((good, bad), "is neither"), ((good, self.folder / "none"), "there is no")):
            done = run("bench-compare", *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
        other = self.attention("other", b=1.0)
        self.assertIn("have no row in common", run("bench-compare", good, other).stderr)


class CoverageByFolder(InFolder):
    def test_adds_the_lines_of_a_folder_and_puts_the_least_covered_first(self):
        header = "filename,line_total,line_covered,line_percent\n"
        file = self.write("c.csv", header + "qkv/op/a.cc,10,10,1\nqkv/op/b.cc,10,5,0.5\nqkv/base/c.cc,10,1,0.1\n")
        lines = run("coverage-by-folder", file).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[:3]], ["10.0", "75.0", "53.3"])
        self.assertTrue(lines[1].endswith("15 of     20 lines  qkv/op"), lines[1])
        self.assertEqual([line.split() for line in lines[5:]], [["9", "qkv/base/c.cc"], ["5", "qkv/op/b.cc"]])

    def test_refuses_a_report_of_nothing(self):
        self.assertEqual(run("coverage-by-folder", self.write("c.csv", "filename,line_total\n")).returncode, 1)


class ThirdParty(unittest.TestCase):
    def test_has_notices_and_a_bill_of_materials_that_are_up_to_date(self):
        done = run("third-party", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_every_package_of_the_bill_once_and_relates_it(self):
        bill = json.loads((ROOT / "sbom.spdx.json").read_text())
        names = {package["SPDXID"] for package in bill["packages"]}
        self.assertEqual(len(names), len(bill["packages"]))
        related = {r["spdxElementId"] for r in bill["relationships"]}
        related |= {r["relatedSpdxElement"] for r in bill["relationships"]}
        self.assertEqual(related, names | {"SPDXRef-DOCUMENT"})


if __name__ == "__main__":
    unittest.main()
