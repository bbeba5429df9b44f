"""Mathematics as MathML, which browsers draw themselves: made when the page is built, no script."""

import html

from latex2mathml.converter import convert


def mathml(text, display):
    made = convert(text.replace("{aligned}", "{align*}"), display=display)  # that which the converter knows
    return made.replace("<math ", f'<math aria-label="{html.escape(text, quote=True)}" ', 1)


def inline(translator, node):
    translator.body.append(mathml(node.astext(), "inline"))
    raise_skip()


def block(translator, node):
    translator.body.append(f'<div class="math" tabindex="0">{mathml(node.astext(), "block")}</div>\n')
    raise_skip()


def raise_skip():
    from docutils import nodes

    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
