"use strict";
// The data of the page, its panels, and what is computed of them: means, maxima and overlays of heads.
const data = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const main = document.querySelector("main");

function attach(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const make = (tag, attributes = {}, ...children) => attach(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
    attach(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The weights of a panel from its codes. 16 bits: evenly from the low end of the scale to the high one; 8 bits: multiples of
// the step of the panel.
function decoded(codes, count, step) {
  const weights = new Float32Array(count);
  for (let i = 0; i < count; ++i)
    weights[i] = data.bits === 16 ? data.low + (codes[2 * i] + 256 * codes[2 * i + 1]) / 65535 * (data.high - data.low)
                                  : step * codes[i];
  return weights;
}

// All panels, in the order of the data.
const panels = [];
function unpack(bytes) {
  let at = 0;
  for (const group of data.groups)
    group.panels = group.panels.map((panel, index) => {
      const rows = data.tokens[panel.rows], columns = data.tokens[panel.columns], count = rows.length * columns.length;
      const weights = decoded(bytes.subarray(at, at += count * data.bits / 8), count, panel.step);
      const title = [group.title, panel.title].filter(Boolean).join(", ") || "Weights";
      const layer = group.heads ? Math.floor(index / group.heads) : 0;
      const made = {...panel, name: panel.title, title, group, index, layer, rows, columns, weights, number: panels.length};
      panels.push(made);
      return made;
    });
}

const weight = (panel, row, column) => panel.weights[row * panel.columns.length + column];

// What the large view can show beside the head that was selected: the heads of its layer, or of all layers of the group,
// together.
const combinations = {
  head: {name: "this head"},
  layerMean: {name: "mean of the layer", ofLayer: true},
  layerMax: {name: "maximum of the layer", ofLayer: true},
  allMean: {name: "mean of all heads"},
  allMax: {name: "maximum of all heads"},
  overlay: {name: "heads in colors", ofLayer: true},
};
const partsOf = (panel, kind) =>
    panel.group.panels.filter(each => !combinations[kind].ofLayer || each.layer === panel.layer);
const numberOfHead = panel => panel.group.heads ? panel.index % panel.group.heads : panel.index;

const known = new Map();
function combined(panel, kind, off) {
  if (kind === "head" || !panel.group.heads) return panel;
  const parts = partsOf(panel, kind).filter(each => kind !== "overlay" || !off.has(numberOfHead(each)));
  const key = [panel.group.title, combinations[kind].ofLayer ? panel.layer : "", kind, parts.map(numberOfHead)].join();
  if (!known.has(key)) known.set(key, combination(panel, kind, parts));
  return known.get(key);
}
function combination(panel, kind, parts) {
  const weights = new Float32Array(panel.weights.length), strongest = new Uint16Array(weights.length);
  const mean = kind === "layerMean" || kind === "allMean";
  parts.forEach((part, number) => part.weights.forEach((value, i) => {
    if (mean) {
      weights[i] += value / parts.length;
    } else if (number === 0 || Math.abs(value) > Math.abs(weights[i])) {
      weights[i] = value;
      strongest[i] = number;
    }
  }));
  const layer = combinations[kind].ofLayer ? panel.group.lineTitles[panel.layer] : "";
  const of = kind === "overlay" ? `${parts.length} heads in colors` : `${mean ? "mean" : "maximum"} of ${parts.length} heads`;
  return {group: panel.group, rows: panel.rows, columns: panel.columns, weights, does: of,
          max: weights.reduce((most, value) => Math.max(most, Math.abs(value)), 0),
          title: [panel.group.title, layer].filter(Boolean).join(", ") || "Weights",
          ...(kind === "overlay" ? {parts, strongest} : {})};
}
