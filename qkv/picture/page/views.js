// The large view. Cells and lines fit into the given width and height; state.zoom enlarges them, and then the part that
// begins at state.x, state.y (in tokens) is drawn. Both return their nodes, the geometry of what is visible, and a function
// from a point to [row, column].
const inside = (at, count) => at >= 0 && at < count ? at : -1;

// One axis: `count` tokens of `size` pixels, of which `room` pixels are visible from token `first` on.
function axis(count, size, room, first) {
  const shown = Math.min(count * size, Math.max(room, 1)), last = Math.max(0, count - shown / size);
  const from = Math.min(last, Math.max(0, first));
  return {count, size, shown, first: from, tokens: shown / size,
          at: token => (token + .5 - from) * size,
          token: pixel => pixel < 0 || pixel >= shown ? -1 : inside(Math.floor(from + pixel / size), count),
          visible: token => token + .5 >= from && (token + .5 - from) * size <= shown};
}
const labelsOf = (axis, pitch, chosen) =>
    labelled(Math.floor(axis.first), Math.min(axis.count - 1, Math.ceil(axis.first + axis.tokens)),
             labelStep(axis.size, pitch), chosen).filter(axis.visible);

function cells(panel, width, height) {
  const {rows, columns} = panel, longest = font => Math.min(11 * font, .24 * width, .3 * height);
  let fit = 24, cell = 24, left = 0, top = 0, right = 0, font = 12, angle = 0;
  for (let pass = 0; pass < 4; ++pass) {  // the size of the labels and that of the cells depend on each other
    font = Math.max(9, Math.min(13, cell * .85));
    const length = widest(columns, font, longest(font));
    angle = length <= cell - 4 ? 0 : cell * labelStep(cell, font * 1.15) >= 16 && cell >= 12 ? 45 : 90;
    left = 1.08 * widest(rows, font, longest(font)) + 8;  // the selected label is bold
    top = angle === 0 ? font + 8 : length * Math.sin(angle * Math.PI / 180) + font * .7 + 8;
    right = angle === 45 ? length * .71 : 1;
    fit = Math.min(44, (width - left - right) / columns.length, (height - top - 2) / rows.length);
    cell = fit * state.zoom;
  }
  const across = axis(columns.length, cell, width - left - right, state.x);
  const down = axis(rows.length, cell, height - top - 2, state.y);
  const canvas = make("canvas", {style: `left:${left}px;top:${top}px;width:${across.shown}px;height:${down.shown}px`});
  resized(canvas, across.shown, down.shown);
  paint(panel, canvas, {x: across.first, y: down.first, across: across.tokens, down: down.tokens});
  const svg = draw("svg", {width: left + across.shown + right, height: top + down.shown + 2});
  const body = draw("g", {transform: `translate(${left} ${top})`});
  svg.append(body);
  const frame = () => {
    body.replaceChildren();
    if (cell >= 7) {
      let grid = "";
      for (let i = Math.ceil(down.first); i < down.first + down.tokens; ++i) grid += `M0 ${(i - down.first) * cell}h${across.shown}`;
      for (let j = Math.ceil(across.first); j < across.first + across.tokens; ++j) grid += `M${(j - across.first) * cell} 0v${down.shown}`;
      body.append(draw("path", {class: "lattice", d: grid}));
    }
    body.append(draw("rect", {class: "frame", width: across.shown, height: down.shown}));
    for (const i of labelsOf(down, font * 1.15, state.row))
      body.append(label(rows[i], font, longest(font), {
        x: -6, y: down.at(i), dy: ".35em", "text-anchor": "end", class: emphasis(i, state.row)}));
    for (const j of labelsOf(across, angle ? font * (angle === 45 ? 1.35 : 1.15) : 0, state.column))
      body.append(label(columns[j], font, longest(font), {
        transform: `translate(${across.at(j)} -7) rotate(${-angle})`, dy: angle ? ".35em" : 0,
        "text-anchor": angle ? "start" : "middle", class: emphasis(j, state.column)}));
    const side = (axis, chosen) => {
      if (chosen < 0) return [0, axis.shown];
      const from = Math.max(0, axis.at(chosen) - cell / 2), to = Math.min(axis.shown, axis.at(chosen) + cell / 2);
      return [from, Math.max(0, to - from)];
    };
    if (state.row < 0 && state.column < 0) return;
    const [x, w] = side(across, state.column), [y, h] = side(down, state.row);
    body.append(draw("rect", {class: "cross", x, y, width: w, height: h}));
  };
  frame();
  return {nodes: [canvas, svg], across, down, left, top, fit, limit: 44, update: frame,
          meaning: (x, y) => [y < top ? -1 : down.token(y - top), x < left ? -1 : across.token(x - left)]};
}

// Lines from queries (left) to keys (right), their opacity in proportion to the weight; those of an overlay have the color
// of their head. Drawn by levels of opacity, one path each, faint ones first.
function strokes(panel, context, down, across, width, ratio) {
  const levels = 40, high = largest(panel), chosen = state.row >= 0 || state.column >= 0;
  const style = getComputedStyle(document.documentElement);
  const parts = panel.parts ? panel.parts.map(part => [part, headCss(part), headCss(part)])
                            : [[panel, style.getPropertyValue("--accent"), style.getPropertyValue("--minus")]];
  const drawn = [];
  for (const [part, plus, minus] of parts) {
    const paths = Array.from({length: 2 * levels + 1}, () => null), columns = part.columns.length;
    for (let i = 0; i < part.rows.length; ++i) {
      if (state.row >= 0 && state.row !== i) continue;
      for (let j = 0; j < columns; ++j) {
        if (state.column >= 0 && state.column !== j) continue;
        const level = Math.round(Math.min(1, Math.max(-1, part.weights[i * columns + j] / high)) * levels);
        if (level === 0 || !(down.visible(i) || down.visible(j))) continue;
        const path = paths[level + levels] ??= new Path2D(), a = down.at(i), b = down.at(j);
        path.moveTo(0, a);
        path.bezierCurveTo(across * .4, a, across * .6, b, across, b);
      }
    }
    paths.forEach((path, at) => path && drawn.push([Math.abs(at - levels) / levels, at > levels ? plus : minus, path]));
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, across, down.shown);
  context.lineWidth = width;
  for (const [share, color, path] of drawn.sort((a, b) => a[0] - b[0])) {
    context.globalAlpha = chosen ? .1 + .9 * share : share;
    context.strokeStyle = color;
    context.stroke(path);
  }
}

function lines(panel, width, height) {
  const {rows, columns} = panel, count = Math.max(rows.length, columns.length);
  const fit = Math.min(26, (height - 4) / count), step = fit * state.zoom, font = Math.max(9, Math.min(13, step * .85));
  const longest = Math.min(11 * font, .26 * width);
  const left = 1.08 * widest(rows, font, longest) + 8, right = 1.08 * widest(columns, font, longest) + 8 + 44;
  const between = Math.max(60, Math.min(320, width - left - right)), down = axis(count, step, height - 4, state.y);
  const canvas = make("canvas", {style: `left:${left}px;top:2px;width:${between}px;height:${down.shown}px`});
  const ratio = resized(canvas, between, down.shown), context = canvas.getContext("2d");
  const svg = draw("svg", {width: left + between + right, height: down.shown + 4});
  const body = draw("g", {transform: `translate(${left} 2)`});
  svg.append(body);
  const frame = () => {
    strokes(panel, context, down, between, Math.max(.8, Math.min(2.4, step * .1)), ratio);
    body.replaceChildren();
    for (const [texts, side, chosen] of [[rows, {x: -6, "text-anchor": "end"}, state.row], [columns, {x: between + 6}, state.column]])
      for (const i of labelsOf(down, font * 1.15, chosen))
        if (i < texts.length)
          body.append(label(texts[i], font, longest, {...side, y: down.at(i), dy: ".35em", class: emphasis(i, chosen)}));
    if (state.row < 0) return;  // weights behind the keys
    for (const j of labelsOf(down, font * 1.15, -1)) {
      if (j >= columns.length) continue;
      const value = weight(panel, state.row, j), x = between + 14 + Math.min(widthOf(columns[j], font), longest);
      if (Math.abs(value) >= .02 * largest(panel))
        body.append(draw("text", {class: "weight", x, y: down.at(j), dy: ".35em", "font-size": font * .85}, value.toFixed(2)));
    }
  };
  frame();
  return {nodes: [canvas, svg], down, across: null, left, top: 2, fit, limit: 26, update: frame, meaning: (x, y) => {
    const at = down.token(y - 2), isRow = x < left + between / 2;
    return [isRow && at < rows.length ? at : -1, !isRow && at < columns.length ? at : -1];
  }};
}
