"""Random small templates, rendered by jinja2 and by a program that reads them from stdin: the differences.

    python3 test/chat_template/random_templates.py 10000 build/test/render_chat_template [SEED]

The program (render_chat_template.cc) answers a line of JSON, {"template": ..., "variables": ...}, by a line of JSON,
{"text": ...} or {"error": ...}. Where both refuse, the messages may differ."""

import json
import random
import subprocess
import sys

from environment import render

VARIABLES = {
    "a": [3, 1, 2], "s": "Hello World", "t": " b,c \u00e9\n", "d": {"x": 1, "y": "z", "k": [1]}, "n": None, "f": 2.5, "b": True,
    "e": [], "i": 7, "m": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo", "x": 1}],
}  # fmt: skip


KINDS = {"t": "text", "n": "number", "l": "list", "b": "truth", "d": "dict", "x": None}
ATOMS = {
    "text": ("''", "'a'", "'b,c'", "'X y'", "' q '", '"it\'s"', "'\\n'", "'\u00e9'", "'role'", "'user'", "s", "t", "s", "t"),
    "number": ("0", "1", "2", "3", "-1", "10", "f", "i", "1.5", "ns.x", "true"),
    "list": ("a", "a", "e", "[]", "[1, 'a']", "['b', 'A']", "(2, 1)", "m", "range(4)", "range(4, 0, -2)"),
    "truth": ("b", "true", "false", "n", "zz", "e", "s", "0", "n is none", "zz is defined"),
    "dict": ("d", "{}", "{'x': 1, 'b': 'c'}", "m[0]", "{'k': none, 1: 2.0}"),
}
FORMS = {
    "text": (
        "(@t + @t)", "@t ~ @x", "(@t * 2)", "@t | upper", "@t | lower", "@t | title", "@t | capitalize", "@t | trim", "@x | string",
        "(@l) | join(',')", "@l | join", "@x | tojson", "@d | tojson(indent=1)", "@t | replace('l', 'L')", "@t | reverse", "@t | indent(2)",
        "@t | e", "(@t).strip()", "(@t).upper()", "(@t).replace('o', @t)", "(@t).title()", "(@t).lstrip()", "(@t).rstrip('d')",
        "(@t)[0]", "(@t)[-1]", "(@t)[1:]", "(@t)[:-1]", "(@t)[::-1]", "(@t)[@n | int:]", "','.join(@l | map('string'))", "(@t if @b else @t)",
        "(@t or @t)", "(@b and @t)", "@x | default('D')", "@t | default('D', true)", "'%s|%s' | format(@x, @t)", "'{} {}'.format(@t, @n)",
        "(@t).capitalize()", "m[0].content", "m[-1]['role']", "(@t if @b)", "@t | first", "@t | last", "(@t).swapcase()", "@t | trim(' a')",
        "'<%5s>' % @t", "(@t).center(9, '*')", "(@t).partition(' ')[2]", "(@t).removeprefix('H')", "(@t).zfill(5)",
    ),
    "number": (
        "(@n + @n)", "(@n - @n)", "@n * @n", "(@n // 2)", "(@n % 3)", "(@n / 2)", "-(@n)", "@l | length", "@t | length", "@x | int",
        "@t | float", "(@n) | abs", "(@n) | round", "(@n) | round(1)", "(@t).find('o')", "(@t).count('l')", "(@l | map('int')) | sum",
        "(@n if @b else @n)", "(@n) | int", "@d | length", "a | max", "a | min", "(@n) ** 2", "(@t).rfind(@t)", "a | sum(start=@n)",
        "(@n) | round(0, 'floor')", "d.x", "a[1]", "(@l).count(1)",
    ),
    "list": (
        "(@t).split()", "(@t).split(',')", "(@t).rsplit('l', 1)", "(@t).splitlines()", "@t | list", "[@x, @x]", "(@x,)", "(@l)[1:]",
        "(@l)[::-1]", "(@l)[:-1]", "@l | list", "@l | reverse | list", "a | sort", "['b', 'A', @t] | sort", "['b', 'A', @t] | sort(reverse=true)",
        "a | unique | list", "@l | map('string') | list", "m | map(attribute='role') | list", "@l | select | list", "@l | reject('none') | list",
        "m | selectattr('x', 'defined') | list", "m | selectattr('role', 'eq', 'user') | list", "@d | items | list", "(@d).keys() | list",
        "(@d).values() | list", "range(@n | int) | list", "(@l if @b else @l)", "m | rejectattr('role', 'in', [@t]) | list",
        "[@t, @t] | map('upper') | list", "a | select('gt', @n) | list", "a | map('string') | map('upper') | list", "[@d, @d]",
        "d.items() | list", "{'b': 1, 'A': @x} | dictsort", "(@t).split(none, 1)", "a + [@x]", "[@n, @n] | sort", "(@l, @l)",
    ),
    "truth": (
        "not @b", "(@b and @b)", "(@b or @b)", "@n == @n", "@n < @n", "@n <= @n", "@t == @t", "@t < @t", "@x != @x", "@t in @t", "@n in @l",
        "@t not in @l", "@t in @d", "@x is defined", "@x is not none", "@x is string", "@x is mapping", "@x is sequence", "@x is iterable",
        "@x is number", "(@x) is integer", "@x is float", "@x is boolean", "@x is true", "@x is false", "@n is odd", "(@n) is divisibleby(2)",
        "@n is eq(@n)", "@t is in [@t, 'a']", "(@n) is gt 1", "@t is lower", "@t is upper", "(@t).startswith('H')", "(@t).endswith(@t)",
        "0 < @n < 3", "@l == @l", "@d == d", "(@t).isdigit()", "(@t).isalpha()", "(@t).isspace()", "(@t).isupper()", "@x is sameas true",
        "a < [@n]", "@x is undefined",
    ),
    "dict": ("{'x': @x}", "{@t: @x, 'y': @n}", "(@d if @b else @d)", "dict(@d, z=@x)", "{'a': @d}['a']", "(@d).get('zz', d)", "dict(k=@l)"),
}  # fmt: skip


class Grammar:
    """Expressions have a type most of the time, so that most templates give a text."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *options):
        return self.random.choice(options)

    def expression(self, depth, kind=None):
        kind = kind or self.pick("text", "text", "number", "list", "truth", "dict")
        if self.random.random() < 0.01:
            kind = self.pick("text", "number", "list", "truth", "dict")
        if depth <= 0 or self.random.random() < 0.1:
            return self.pick(*ATOMS[kind])
        form = self.pick(*FORMS[kind])
        while "@" in form:  # @t: a text, @n: a number, ...
            at = form.index("@")
            inner = self.expression(depth - 1, KINDS[form[at + 1]])
            form = form[:at] + inner + form[at + 2 :]
        return form

    def tag(self, inside):
        return "{%" + self.pick("", "-", "+") + " " + inside + " " + self.pick("", "-", "") + "%}"

    def gap(self):
        return self.pick("", " ", "\n", "x", "\n  ", " y\n", "\n\n", "  ")

    def body(self, depth):
        return "".join(self.gap() + self.statement(depth) for _ in range(self.random.randrange(1, 4))) + self.gap()

    def statement(self, depth):
        kind = self.random.randrange(9) if depth > 0 else 0
        x = self.expression(self.random.randrange(3))
        if kind <= 2:
            return "{{" + self.pick("", "-") + " " + self.expression(self.random.randrange(4)) + " " + self.pick("", "-") + "}}"
        if kind == 3:
            return self.tag(f"if {x}") + self.body(depth - 1) + self.pick("", self.tag("else") + self.body(depth - 1)) + self.tag("endif")
        if kind == 4:
            condition = self.pick("", "", f" if {self.expression(1, 'truth')}")
            items = self.pick("a", "m", "d", "range(3)", "d.items()", "s", self.expression(1, "list"))
            extra = self.pick("", "", self.tag("if loop.index == 2") + self.tag(self.pick("break", "continue")) + self.tag("endif"))
            shown = self.pick("{{ loop.index }}", "{{ loop.last }}", "{{ q }}", "{{ loop.length }}", "{{ loop.nextitem }}", "")
            return self.tag(f"for q in {items}{condition}") + extra + shown + self.body(depth - 1) + self.tag("endfor")
        if kind == 5:
            name, kind = self.pick(("q", None), ("a", "list"), ("s", "text"), ("w", None), ("ns.x", "number"), ("i", "number"))
            return self.tag(f"set {name} = {self.expression(2, kind)}")
        if kind == 6:
            return self.tag("set w") + self.body(depth - 1) + self.tag("endset") + "{{ w }}"
        if kind == 7:
            name = self.pick("p1", "p2")
            call = f"{{{{ {name}({self.expression(1)}{self.pick('', ', ' + self.expression(0), ', v=' + self.expression(0))}) }}}}"
            return self.tag(f"macro {name}(u, v={self.expression(0)})") + "{{ u }}" + self.body(depth - 1) + self.tag("endmacro") + call
        return self.pick("{# c #}", "{#- c -#}", "{% raw %}{{ x }}{% endraw %}", "  {# c #}\n", self.tag("filter upper") + self.body(depth - 1) + self.tag("endfilter"))

    def template(self):
        return self.tag("set ns = namespace(x=1)") + self.body(self.random.randrange(3))


def comparable(text):
    """Not addresses, the repr() of markup, which is text here, and that of a part of a range."""
    return text is None or not any(part in text for part in (" at 0x", "<generator", "<built-in", "Markup(", "range("))


def main():
    count, program = int(sys.argv[1]), sys.argv[2]
    grammar = Grammar(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    templates = [grammar.template() for _ in range(count)]
    lines = "\n".join(json.dumps({"template": t, "variables": VARIABLES}) for t in templates) + "\n"
    answers = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    equal = refused = skipped = 0
    for template, answer in zip(templates, answers, strict=True):
        expected, found = render(template, VARIABLES), json.loads(answer)
        if not comparable(expected.get("text")):
            skipped += 1
        elif "error" in expected and "error" in found:
            refused += 1
        elif expected.get("text") == found.get("text") and "text" in expected:
            equal += 1
        else:
            print(f"{template!r}\n  jinja2 {expected}\n  here   {found}")
    differ = count - equal - refused - skipped
    print(f"{count} templates: {equal} with equal text, {refused} refused by both, {skipped} not comparable, {differ} differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
