"""Drawing for the diagrams of the chapters: boxes, arrows, matrices with named axes, as SVG.

A diagram has a light ground of its own, so that it reads the same in a dark page, the colours of Okabe and Ito,
which colour-blind readers tell apart, and a title and a description as its text alternative.
"""

from html import escape

INK = "#1b1b1b"
SOFT = "#6b6b6b"
FILLS = {
    "q": ("#d6e6f3", "#0072b2"),
    "k": ("#fdebc8", "#b26b00"),
    "v": ("#cfeee2", "#007a59"),
    "w": ("#f3dbe8", "#a03d74"),
    "plain": ("#f0f0f0", "#6b6b6b"),
    "none": ("#ffffff", "#b0b0b0"),
}


class Diagram:
    def __init__(self, width, height, title, description):
        self.size = width, height
        self.title, self.description = title, description
        self.parts = []

    def text(self, x, y, text, size=14, anchor="middle", color=INK, weight="normal", style="normal"):
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{color}" '
            f'font-weight="{weight}" font-style="{style}">{escape(text)}</text>'
        )

    def box(self, x, y, width, height, label="", kind="plain", size=14):
        fill, line = FILLS[kind]
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="{line}" '
            'stroke-width="1.5"/>'
        )
        lines = label.split("\n") if label else []
        for at, line_text in enumerate(lines):
            middle = y + height / 2 + 5 + (at - (len(lines) - 1) / 2) * (size + 4)
            self.text(x + width / 2, middle, line_text, size)

    def arrow(self, x1, y1, x2, y2, dashed=False):
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{INK}" stroke-width="1.5"{dash} '
            'marker-end="url(#head)"/>'
        )

    def path(self, points, arrow=True):
        text = " ".join(f"{x:g},{y:g}" for x, y in points)
        end = ' marker-end="url(#head)"' if arrow else ""
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{INK}" stroke-width="1.5"{end}/>')

    def curve(self, points, kind="q", dashed=False):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{text}" fill="none" stroke="{FILLS[kind][1]}" stroke-width="2.5"{dash}/>'
        )

    def dot(self, x, y, kind="k", radius=5):
        fill, line = FILLS[kind]
        self.parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{line}" stroke="{fill}" stroke-width="1.5"/>'
        )

    def matrix(
        self, x, y, rows, columns, kind, name="", row_axis="", column_axis="", cell=18, shades=None, labels=None
    ):
        """A grid; shades: a number from 0 to 1 for each cell, or None for one that is left out."""
        fill, line = FILLS[kind]
        for i in range(rows):
            for j in range(columns):
                shade = 0.0 if shades is None else shades[i][j]
                color = "#ffffff" if shade is None else mix(fill if shades is None else "#ffffff", line, shade)
                cross = shade is None
                self.parts.append(
                    f'<rect x="{x + j * cell:g}" y="{y + i * cell:g}" width="{cell}" height="{cell}" '
                    f'fill="{color}" stroke="{line}" stroke-width="1"/>'
                )
                if cross:
                    left, top = x + j * cell, y + i * cell
                    self.parts.append(
                        f'<line x1="{left + 4:g}" y1="{top + 4:g}" x2="{left + cell - 4:g}" '
                        f'y2="{top + cell - 4:g}" stroke="#b0b0b0" stroke-width="1.5"/>'
                    )
                if labels and labels[i][j]:
                    dark = shade is not None and shades is not None and shade > 0.55
                    self.text(
                        x + (j + 0.5) * cell,
                        y + (i + 0.5) * cell + 4,
                        labels[i][j],
                        11,
                        color="#fff" if dark else INK,
                    )
        if row_axis:
            self.text(x - 8, y + rows * cell / 2 + 5, row_axis, 13, "end", SOFT, style="italic")
        if column_axis:
            self.text(x + columns * cell / 2, y - 7, column_axis, 13, "middle", SOFT, style="italic")
        if name:
            self.text(x + columns * cell / 2, y + rows * cell + 19, name, 14, weight="bold")

    def svg(self):
        width, height = self.size
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" font-family="system-ui, sans-serif">\n'
            f"<title>{escape(self.title)}</title>\n<desc>{escape(self.description)}</desc>\n"
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="{INK}"/></marker></defs>\n'
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>\n{body}\n</svg>\n'
        )


def mix(a, b, share):
    """The colour between two of them."""
    parts = [round(int(a[i : i + 2], 16) * (1 - share) + int(b[i : i + 2], 16) * share) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)
