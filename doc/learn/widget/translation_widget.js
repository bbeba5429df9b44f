// The page translation.html: a sentence is translated, and the weights of a layer and head are shown as a heat map.
"use strict";

const get = (id) => document.getElementById(id);
const translator = typeof model === "undefined" ? null : new TranslationModel(model);
let result = null, chosen = 1; // the row whose weights are spelled out
const shown = (piece) => (piece === "\u2581" ? "_" : piece);

function options(select, names, value) {
  select.replaceChildren(...names.map(([key, name]) => Object.assign(document.createElement("option"), { value: key, textContent: name })));
  select.value = value;
}

// The weights of the chosen part, layer and head, or their mean over heads, with the tokens of rows and columns.
function weights() {
  const part = get("part").value, heads = result[part][Number(get("layer").value)], head = get("head").value;
  const mean = (i, j) => heads.reduce((sum, w) => sum + w[i][j], 0) / heads.length;
  const rows = part === "encoder" ? result.source : result.target, columns = part === "decoder" ? result.given : result.source;
  const numbers = rows.map((_, i) => columns.map((_, j) => (head === "mean" ? mean(i, j) : heads[Number(head)][i][j])));
  return { rows, columns, numbers };
}

function tell() {
  const { rows, columns, numbers } = weights();
  chosen = Math.min(chosen, rows.length - 1);
  const largest = numbers[chosen].map((w, j) => [w, j]).sort((a, b) => b[0] - a[0]).slice(0, 5).filter(([w]) => w >= 0.005);
  get("row").textContent = `${shown(rows[chosen])} at position ${chosen} looks at ` +
    largest.map(([w, j]) => `${shown(columns[j])} (${j}) ${w.toFixed(2)}`).join(", ");
  [...get("map").children].slice(1).forEach((row, i) => {
    row.className = i === chosen ? "chosen" : "";
    row.tabIndex = i === chosen ? 0 : -1;
  });
}

function draw() {
  const { rows, columns, numbers } = weights();
  const head = document.createElement("tr");
  head.append(document.createElement("td"), ...columns.map((piece) =>
    Object.assign(document.createElement("th"), { scope: "col", textContent: shown(piece) })));
  get("map").replaceChildren(head, ...numbers.map((row, i) => {
    const made = document.createElement("tr");
    made.append(Object.assign(document.createElement("th"), { scope: "row", textContent: shown(rows[i]) }));
    made.append(...row.map((w, j) => {
      const cell = document.createElement("td");
      cell.style.background = `color-mix(in srgb, var(--w) ${Math.round(100 * w)}%, var(--ground))`;
      cell.title = `${shown(rows[i])} on ${shown(columns[j])}: ${w.toFixed(2)}`;
      return cell;
    }));
    made.addEventListener("pointerenter", () => { chosen = i; tell(); });
    return made;
  }));
  tell();
}

function translate() {
  const text = get("sentence").value;
  get("note").textContent = "";
  if (text.trim() === "") { get("out").textContent = "Type a date."; return; }
  result = translator.translate(text);
  get("out").textContent = result.text;
  if (result.unknown.length)
    get("note").textContent = `Not in the vocabulary, so all the same to the model: ${result.unknown.join(" ")}`;
  draw();
}

function choose(event) {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key], rows = get("map").children;
  if (!step) return;
  event.preventDefault();
  chosen = Math.max(0, Math.min(rows.length - 2, chosen + step));
  tell();
  rows[chosen + 1].focus();
}

if (translator) {
  const layers = () => Array.from({ length: result[get("part").value].length }, (_, n) => [n, String(n)]);
  result = translator.translate(get("sentence").value);
  options(get("layer"), layers(), String(layers().length - 1));
  options(get("head"), [["mean", "mean of all"], ...Array.from({ length: translator.heads }, (_, h) => [h, String(h)])], "mean");
  get("sentence").addEventListener("input", translate);
  get("example").addEventListener("input", () => { get("sentence").value = get("example").value; translate(); });
  get("part").addEventListener("input", () => { options(get("layer"), layers(), get("layer").value); draw(); });
  for (const id of ["layer", "head"]) get(id).addEventListener("input", draw);
  get("map").addEventListener("keydown", choose);
  translate();
} else {
  get("out").textContent = "This page needs translation_model.js, which `make site` makes beside it.";
}
