"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const main = document.querySelector("main");

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// The panels, their weights unpacked from 16-bit numbers.
const panels = [];
for (const group of data.groups) {
  group.panels = group.panels.map((panel, index) => {
    const bytes = atob(panel.weights), weights = new Float32Array(bytes.length / 2);
    let max = 0;
    for (let i = 0; i < weights.length; ++i) {
      const code = bytes.charCodeAt(2 * i) + 256 * bytes.charCodeAt(2 * i + 1);
      weights[i] = data.low + code / 65535 * (data.high - data.low);
      max = Math.max(max, Math.abs(weights[i]));
    }
    const whole = [group.title, panel.title].filter(Boolean).join(", ");
    const made = {group, index, weights, max, title: whole || "Weights", rows: data.tokens[panel.rows],
                  columns: data.tokens[panel.columns], number: panels.length};
    panels.push(made);
    return made;
  });
}

const selected = data.groups[data.selected].panels[0] || panels[0];
const state = {panel: selected, lines: data.lines, own: false, row: -1, column: -1};
const weight = (panel, row, column) => panel.weights[row * panel.columns.length + column];
const largest = panel => state.own && panel.max > 0 ? panel.max : data.high;
const shown = value => Math.abs(value) < 5e-5 ? "0" : value.toFixed(4);

// The cells of a panel, one pixel each, on a canvas.
function paint(panel, canvas) {
  const palette = (dark.matches ? data.dark : data.light).map(
      color => [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16)));
  const high = largest(panel), low = data.low < 0 ? -high : 0;
  canvas.width = panel.columns.length;
  canvas.height = panel.rows.length;
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  panel.weights.forEach((value, i) => {
    const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
    image.data.set(palette[Math.round(share * (palette.length - 1))], 4 * i);
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// Labels: measured, shortened between whole characters, the space mark faint.
const ruler = document.createElement("canvas").getContext("2d");
const family = getComputedStyle(document.body).fontFamily;
function widthOf(text, font) {
  ruler.font = font + "px " + family;
  return ruler.measureText(text).width;
}
const graphemes = text => typeof Intl.Segmenter === "function"
    ? Array.from(new Intl.Segmenter().segment(text), part => part.segment) : Array.from(text);
function fitted(text, font, longest) {
  if (widthOf(text, font) <= longest) return text;
  const parts = graphemes(text);
  while (parts.length > 1 && widthOf(parts.join("") + "\u2026", font) > longest) parts.pop();
  return parts.join("") + "\u2026";
}
function label(text, font, longest, attributes) {
  const short = fitted(text, font, longest), node = draw("text", {"font-size": font, ...attributes});
  if (short !== text) node.append(draw("title", {}, text));
  for (const part of short.split(/([\u2581\u2423])/))
    if (part) node.append(/[\u2581\u2423]/.test(part) ? draw("tspan", {class: "mark"}, part) : part);
  return node;
}
const widest = (texts, font) => Math.max(...texts.map(text => Math.min(widthOf(text, font), 11 * font)), 0);
const emphasis = (index, chosen) => chosen < 0 ? "" : index === chosen ? "on" : "dim";

// The selected panel as cells. Returns the svg and a function from a point to [row, column].
function cells(panel, width, height) {
  const rows = panel.rows.length, columns = panel.columns.length;
  let cell = 24, left = 0, top = 0, right = 0, font = 12, angle = 0;
  for (let pass = 0; pass < 3; ++pass) {  // the size of the labels and that of the cells depend on each other
    font = Math.max(8, Math.min(13, cell * .85));
    const longest = widest(panel.columns, font);
    angle = longest <= cell - 4 ? 0 : cell >= 16 ? 45 : 90;
    left = 1.08 * widest(panel.rows, font) + 8;  // the selected label is bold
    top = angle === 0 ? font + 8 : longest * Math.sin(angle * Math.PI / 180) + font * .7 + 8;
    right = angle === 45 ? longest * .71 : 1;
    cell = Math.max(9, Math.min(44, (width - left - right) / columns, (height - top) / rows));
  }
  const svg = draw("svg", {width: left + columns * cell + right, height: top + rows * cell + 2});
  const body = draw("g", {transform: `translate(${left} ${top})`});
  body.append(draw("image", {href: paint(panel, document.createElement("canvas")).toDataURL(), width: columns * cell,
                             height: rows * cell, preserveAspectRatio: "none"}));
  let grid = "";
  for (let i = 1; i < rows; ++i) grid += `M0 ${i * cell}h${columns * cell}`;
  for (let j = 1; j < columns; ++j) grid += `M${j * cell} 0v${rows * cell}`;
  body.append(draw("path", {class: "lattice", d: grid}));
  body.append(draw("rect", {class: "frame", width: columns * cell, height: rows * cell}));
  panel.rows.forEach((text, i) => body.append(label(text, font, 11 * font, {
    x: -6, y: (i + .5) * cell, dy: ".35em", "text-anchor": "end", class: emphasis(i, state.row)})));
  panel.columns.forEach((text, j) => body.append(label(text, font, 11 * font, {
    transform: `translate(${(j + .5) * cell} -7) rotate(${-angle})`, dy: angle ? ".35em" : 0,
    "text-anchor": angle ? "start" : "middle", class: emphasis(j, state.column)})));
  const band = (x, y, w, h) => body.append(draw("rect", {class: "cross", x, y, width: w, height: h}));
  if (state.row >= 0 && state.column >= 0) band(state.column * cell, state.row * cell, cell, cell);
  else if (state.row >= 0) band(0, state.row * cell, columns * cell, cell);
  else if (state.column >= 0) band(state.column * cell, 0, cell, rows * cell);
  svg.append(body);
  const inside = (at, count) => at >= 0 && at < count ? at : -1;
  return {svg, meaning: (x, y) => [y < top ? -1 : inside(Math.floor((y - top) / cell), rows),
                                   x < left ? -1 : inside(Math.floor((x - left) / cell), columns)]};
}

// The selected panel as lines from queries (left) to keys (right), with an opacity in proportion to the weight.
function ties(panel, width, height) {
  const count = Math.max(panel.rows.length, panel.columns.length);
  const step = Math.max(13, Math.min(26, (height - 4) / count)), font = Math.min(13, step * .85);
  const left = 1.08 * widest(panel.rows, font) + 8, right = 1.08 * widest(panel.columns, font) + 8 + 44;
  const across = Math.max(90, Math.min(320, width - left - right));
  const svg = draw("svg", {width: left + across + right, height: count * step + 4});
  const body = draw("g", {transform: `translate(${left} 2)`});
  const curves = draw("g", {class: "ties", "stroke-width": Math.max(1, Math.min(2.4, step * .1))});
  const high = largest(panel), chosen = state.row >= 0 || state.column >= 0;
  panel.rows.forEach((_, i) => panel.columns.forEach((__, j) => {
    const value = weight(panel, i, j), share = Math.min(1, Math.abs(value) / high);
    const off = chosen && !(state.row < 0 || state.row === i) | !(state.column < 0 || state.column === j);
    if (share < .008 || off) return;
    const a = (i + .5) * step, b = (j + .5) * step;
    curves.append(draw("path", {d: `M0 ${a}C${across * .4} ${a} ${across * .6} ${b} ${across} ${b}`,
                                stroke: value < 0 ? "var(--minus)" : "var(--accent)",
                                "stroke-opacity": (chosen ? .1 + .9 * share : share).toFixed(3)}));
  }));
  body.append(curves);
  panel.rows.forEach((text, i) => body.append(label(text, font, 11 * font, {
    x: -6, y: (i + .5) * step, dy: ".35em", "text-anchor": "end", class: emphasis(i, state.row)})));
  panel.columns.forEach((text, j) => body.append(label(text, font, 11 * font, {
    x: across + 6, y: (j + .5) * step, dy: ".35em", class: emphasis(j, state.column)})));
  if (state.row >= 0)  // weights behind the keys
    panel.columns.forEach((text, j) => {
      const value = weight(panel, state.row, j), x = across + 14 + Math.min(widthOf(text, font), 11 * font);
      if (Math.abs(value) >= .02 * high)
        body.append(draw("text", {class: "weight", x, y: (j + .5) * step, dy: ".35em", "font-size": font * .85},
                         value.toFixed(2)));
    });
  svg.append(body);
  return {svg, meaning: (x, y) => {
    const at = Math.floor((y - 2) / step), isRow = x < left + across / 2;
    return [isRow && at < panel.rows.length ? at : -1, !isRow && at < panel.columns.length ? at : -1];
  }};
}

// The rest of the page.
const title = make("h2", {dir: "auto"}), readout = make("output", {"aria-live": "polite"});
const stage = make("div", {class: "stage", tabindex: 0, role: "application"}), ramp = make("i");
const low = make("span"), high = make("span"), sides = make("span");
const views = ["Cells", "Lines"].map(name => make("button", {type: "button"}, name));
const own = make("input", {type: "checkbox"});
views.forEach((button, at) => button.addEventListener("click", () => { state.lines = at === 1; show(); }));
own.addEventListener("change", () => { state.own = own.checked; repaint(); show(); });
const detail = make("section", {class: "card detail", "aria-label": "selected head"},
    make("div", {class: "bar"}, title, make("div", {class: "views", role: "group", "aria-label": "view"}, ...views),
         make("label", {}, own, "scale to the maximum of the head")),
    readout, stage, make("div", {class: "key"}, low, ramp, high, sides));

function tell() {
  const {panel, row, column} = state, bold = text => make("b", {dir: "auto"}, text);
  const value = number => make("span", {class: "value"}, shown(number));
  if (row >= 0 && column >= 0)
    return ["query ", bold(panel.rows[row]), " \u2192 key ", bold(panel.columns[column]), value(weight(panel, row, column))];
  if (row < 0 && column < 0)
    return [make("span", {class: "hint"}, "Point at a cell or a token, or use the arrow keys here, to read weights.")];
  const others = row >= 0 ? panel.columns : panel.rows;
  const values = others.map((_, at) => row >= 0 ? weight(panel, row, at) : weight(panel, at, column));
  const best = values.map((_, at) => at).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, 4);
  const out = row >= 0 ? ["query ", bold(panel.rows[row]), " attends to"] : ["key ", bold(panel.columns[column]), " is attended to by"];
  for (const at of best) out.push(" \u2003", bold(others[at]), value(values[at]));
  return out;
}

let meaning = () => [-1, -1];
function show() {
  const {panel} = state, palette = dark.matches ? data.dark : data.light;
  title.textContent = panel.title;
  stage.setAttribute("aria-label", `${panel.title}: ${panel.rows.length} queries by ${panel.columns.length} keys`);
  views.forEach((button, at) => button.setAttribute("aria-pressed", state.lines === (at === 1)));
  const room = Math.max(260, innerHeight - 250);
  const made = (state.lines ? ties : cells)(panel, Math.max(240, stage.clientWidth - 2), room);
  stage.replaceChildren(made.svg);
  meaning = made.meaning;
  readout.replaceChildren(...tell());
  sides.textContent = data.caption || (state.lines ? "left: queries, right: keys" : "rows: queries, columns: keys");
  ramp.style.background = `linear-gradient(to right, ${palette.filter((_, at) => at % 8 === 0).join(", ")})`;
  low.textContent = data.low < 0 ? (-largest(panel)).toPrecision(2) : "0";
  high.textContent = largest(panel).toPrecision(2);
}
function point(row, column) {
  if (row === state.row && column === state.column) return;
  Object.assign(state, {row, column});
  show();
}
stage.addEventListener("pointermove", event => {
  const box = stage.firstChild.getBoundingClientRect();
  point(...meaning(event.clientX - box.left, event.clientY - box.top));
});
stage.addEventListener("pointerleave", () => point(-1, -1));
stage.addEventListener("keydown", event => {
  const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Escape: null}[event.key];
  if (move === undefined) return;
  event.preventDefault();
  if (move === null) return point(-1, -1);
  const {panel} = state, kept = (at, last) => Math.min(last, Math.max(0, at));
  if (state.lines) {  // one side at a time
    const right = move[1] ? move[1] > 0 : state.column >= 0, at = Math.max(state.row, state.column) + move[0];
    const side = right ? panel.columns : panel.rows, index = kept(at, side.length - 1);
    return right ? point(-1, index) : point(index, -1);
  }
  point(kept(state.row + move[0], panel.rows.length - 1), kept(state.column + move[1], panel.columns.length - 1));
});

// The maps: one button for every panel; the arrow keys select the next one.
const maps = make("div", {class: "maps"});
function choose(panel, focus) {
  Object.assign(state, {panel, row: -1, column: -1});
  for (const each of panels) {
    each.button.setAttribute("aria-pressed", each === panel);
    each.button.tabIndex = each === panel ? 0 : -1;
  }
  if (focus) panel.button.focus();
  show();
}
for (const group of data.groups) {
  const heads = group.columnTitles, layers = group.lineTitles, across = Math.min(group.perLine, group.panels.length);
  const grid = make("div", {class: "grid"});
  grid.style.gridTemplateColumns = `${layers.length ? "auto " : ""}repeat(${across}, minmax(0, ${across > 4 ? 120 : 170}px))`;
  if (heads.length) {
    if (layers.length) grid.append(make("span"));
    grid.append(...heads.map(text => make("span", {class: "head"}, text)));
  }
  for (const panel of group.panels) {
    if (layers.length && panel.index % group.perLine === 0)
      grid.append(make("span", {class: "layer"}, layers[panel.index / group.perLine]));
    panel.canvas = make("canvas");
    panel.button = make("button", {type: "button", class: "map", "aria-label": panel.title, title: panel.title}, panel.canvas);
    panel.button.addEventListener("click", () => {
      choose(panel);
      if (detail.getBoundingClientRect().bottom < 80) detail.scrollIntoView({behavior: "smooth"});
    });
    panel.button.addEventListener("keydown", event => {
      const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -group.perLine, ArrowDown: group.perLine}[event.key];
      const next = step && panels[panel.number + step];
      if (!next) return;
      event.preventDefault();
      choose(next, true);
    });
    const own = !heads.length && panel.title !== "Weights";
    grid.append(own ? make("div", {}, make("div", {class: "head"}, panel.title), panel.button) : panel.button);
  }
  maps.append(make("section", {class: "card"}, ...(group.title ? [make("h2", {}, group.title)] : []), grid));
}
function repaint() { for (const panel of panels) paint(panel, panel.canvas); }

main.classList.toggle("single", panels.length === 1);
main.append(...(panels.length === 1 ? [] : [maps]), detail);
repaint();
choose(selected);
dark.addEventListener("change", () => { repaint(); show(); });
addEventListener("resize", show);
