"""Diagrams of the chapters on which pairs are computed, and on weights that depend on other weights."""

from draw import Diagram


def sparse():
    d = Diagram(
        700,
        390,
        "Sparse patterns, and how far layers reach",
        "Four square masks of 16 queries (T) and 16 keys (S). Window: a band around the diagonal. Dilated: "
        "every third position within a wider band. Longformer: a band, the first row and the first column. "
        "BigBird: blocks of two around the diagonal, the first row and column of blocks, and some random "
        "blocks. Below, what position 8 depends on: with a window of radius 2, five positions after one "
        "layer, nine after two, thirteen after three.",
    )
    drawn = {(6, 3), (3, 6), (7, 2), (2, 7), (5, 2), (2, 5), (7, 4), (4, 7)}  # random blocks
    rules = {
        "window": lambda i, j: abs(i - j) <= 2,
        "dilated": lambda i, j: abs(i - j) <= 6 and (i - j) % 3 == 0,
        "Longformer": lambda i, j: abs(i - j) <= 2 or i == 0 or j == 0,
        "BigBird": lambda i, j: abs(i // 2 - j // 2) <= 1 or i < 2 or j < 2 or (i // 2, j // 2) in drawn,
    }
    for at, (name, rule) in enumerate(rules.items()):
        shades = [[0.75 if rule(i, j) else 0.0 for j in range(16)] for i in range(16)]
        d.matrix(46 + 166 * at, 52, 16, 16, "w", name, "T", "S", 9, shades)
    d.text(350, 22, "filled: this query (row) sees this key (column)", 13)
    for layer in range(4):
        y = 340 - 30 * layer
        d.text(150, y + 15, f"after layer {layer}" if layer else "inputs", 13, "end")
        reach = 2 * (3 - layer)
        shades = [[0.75 if abs(j - 8) <= reach else 0.0 for j in range(17)]]
        d.matrix(166, y, 1, 17, "v" if layer < 3 else "q", "", "", "", 20, shades)
    d.text(530, 264, "output 8 of a third layer", 13, "start")
    d.text(530, 354, "depends on these inputs:", 13, "start")
    d.text(530, 372, "2 N r + 1 = 13 of S", 13, "start")
    return d


def multi_token():
    d = Diagram(
        700,
        300,
        "Multi-token attention",
        "Scores A of each head, (T,S). A convolution computes each new score from a patch of scores: of "
        "this and earlier queries, and of keys on both sides. Heads are mixed, the softmax follows, the "
        "weights may be convolved and mixed once more, and multiply the values.",
    )
    base = [[0.15 if j <= i else None for j in range(7)] for i in range(7)]
    scores = [row[:] for row in base]
    for i in (3, 4):
        for j in (2, 3, 4):
            if scores[i][j] is not None:
                scores[i][j] = 0.6
    d.matrix(40, 92, 7, 7, "w", "scores A", "T", "S", 19, scores)
    after = [row[:] for row in base]
    after[4][3] = 0.95
    d.matrix(284, 92, 7, 7, "w", "A'", "T", "S", 19, after)
    d.arrow(182, 158, 258, 158)
    d.text(218, 118, "convolve", 13)
    d.text(218, 136, "(H,1,cq,ck)", 12)
    d.text(218, 182, "mix heads", 13)
    d.text(218, 200, "(H,H)", 12)
    d.arrow(424, 158, 484, 158)
    d.text(451, 148, "softmax", 13)
    d.box(484, 138, 74, 40, "weights\n(H,T,S)", "w", 13)
    d.arrow(558, 158, 580, 158)
    d.box(580, 132, 110, 52, "convolve, mix\n(H,1,cq,ck), (c,c)", "plain", 12)
    d.arrow(635, 184, 635, 214)
    d.box(580, 214, 110, 30, "W V  (H,T,E)", "v", 13)
    d.text(350, 26, "one weight from a patch of scores: queries i and i - 1, keys j - 1, j, j + 1", 13)
    d.text(350, 46, "H of these matrices, one for each head of each batch row (B)", 13)
    d.text(350, 286, "crossed: masked, 0 for a convolution; later queries are never read", 13)
    return d


DIAGRAMS = {
    "sparse": sparse,
    "multi_token": multi_token,
}
