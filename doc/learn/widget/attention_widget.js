// The page attention.html: a query and four keys in a plane, their scores and weights.
"use strict";

const points = { q: [1, 0.6], k0: [1.4, 0.8], k1: [0.3, 1.5], k2: [-1.2, 0.4], k3: [0.6, -1.3] };
const values = [10, 20, 30, 40];
const get = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const scale = 80, middle = 160;

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

function move(name, x, y) {
  points[name] = [x, y].map((c) => Math.max(-1.9, Math.min(1.9, c)));
  draw();
}

// Each point is a group with an arrow from the origin, which can be dragged or moved by keys.
function makeHandles() {
  const plane = get("plane");
  element("line", { x1: 0, y1: middle, x2: 320, y2: middle, stroke: "var(--line)" }, plane);
  element("line", { x1: middle, y1: 0, x2: middle, y2: 320, stroke: "var(--line)" }, plane);
  for (const name of Object.keys(points)) {
    const color = name === "q" ? "var(--q)" : "var(--k)";
    element("line", { id: `line-${name}`, x1: middle, y1: middle, stroke: color, "stroke-width": 2 }, plane);
    const handle = element("g", { id: `handle-${name}`, class: "handle", tabindex: 0, role: "button" }, plane);
    element("circle", { r: 12, fill: color, "fill-opacity": 0.85 }, handle);
    element("text", { y: -16, "text-anchor": "middle", "font-weight": "bold" }, handle).textContent =
      name === "q" ? "query" : `key ${name[1]}`;
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.focus();
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const frame = plane.getBoundingClientRect(), unit = 320 / frame.width;
      move(name, ((event.clientX - frame.left) * unit - middle) / scale, (middle - (event.clientY - frame.top) * unit) / scale);
    });
    handle.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 0.5 : 0.1;
      const by = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
      if (!by) return;
      event.preventDefault();
      move(name, points[name][0] + by[0], points[name][1] + by[1]);
    });
  }
}

// The weights of each head: one head compares both numbers of a vector, two heads one number each.
function heads(options, position) {
  const cut = get("heads").value === "1" ? [[0, 2]] : [[0, 1], [1, 2]];
  return cut.map(([begin, end]) => {
    const keys = values.map((_, j) => points[`k${j}`].slice(begin, end));
    const queries = values.map(() => points.q.slice(begin, end));
    const { scores, weights, out } = qkv.attention(queries, keys, values.map((v) => [v]), options);
    return { scores: scores[position], weights: weights[position], out: out[position][0] };
  });
}

function draw() {
  for (const [name, [x, y]] of Object.entries(points)) {
    const px = middle + scale * x, py = middle - scale * y;
    get(`line-${name}`).setAttribute("x2", px);
    get(`line-${name}`).setAttribute("y2", py);
    const handle = get(`handle-${name}`);
    handle.setAttribute("transform", `translate(${px} ${py})`);
    handle.setAttribute("aria-label", `${name === "q" ? "query" : "key " + name[1]}, at ${x.toFixed(1)}, ${y.toFixed(1)}`);
  }
  const temperature = Number(get("temperature").value);
  get("shown").textContent = temperature.toFixed(1);
  const position = Math.max(0, Math.min(3, Math.round(Number(get("position").value)) || 0));
  const all = heads({ score: get("score").value, mask: get("mask").value, temperature, width: 0.7 }, position);
  const two = all.length === 2;
  get("rows").replaceChildren(...all.flatMap((head, h) => values.map((value, j) => {
    const masked = head.scores[j] === null, row = document.createElement("tr");
    row.innerHTML = `<td>${two ? `head ${h}, ` : ""}k${j}</td><td>${masked ? "masked" : head.scores[j].toFixed(2)}</td>` +
      `<td>${head.weights[j].toFixed(2)}</td><td class="bar"><span style="width:${100 * head.weights[j]}%"></span></td>` +
      `<td>${value}</td>`;
    if (masked) row.className = "masked";
    return row;
  })));
  get("out").textContent = `output: ${all.map((head) => head.out.toFixed(2)).join(" and ")}`;
  get("note").textContent = two ? "Head 0 compares the horizontal numbers, head 1 the vertical ones: two softmaxes, two outputs." : "";
}

for (const id of ["score", "mask", "position", "heads", "temperature"]) get(id).addEventListener("input", draw);
makeHandles();
draw();
