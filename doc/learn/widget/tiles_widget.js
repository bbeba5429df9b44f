// The page tiles.html: the online softmax over tiles of keys, step by step, beside the softmax of all keys at once.
"use strict";

const scores = [1, 3, 2, 5, 0, 4, -1, 2], values = [10, 20, 30, 40, 50, 60, 70, 80];
const get = (id) => document.getElementById(id);
let done = 0; // tiles that were computed

function inputs(name, numbers) {
  const row = document.createElement("tr");
  const head = document.createElement("td");
  head.textContent = name;
  row.append(head);
  numbers.forEach((number, j) => {
    const cell = document.createElement("td"), input = document.createElement("input");
    Object.assign(input, { type: "text", inputMode: "decimal", value: number, size: 3 });
    input.style.width = "2.4em";
    input.setAttribute("aria-label", `${name} of key ${j}`);
    input.addEventListener("input", () => {
      const given = Number(input.value);
      if (Number.isFinite(given)) { numbers[j] = given; draw(); }
    });
    cell.dataset.key = j;
    cell.append(input);
    row.append(cell);
  });
  get("keys").append(row);
}

function draw() {
  const width = Number(get("width").value), tiles = 8 / width;
  const count = Math.max(0, Math.min(8, Number(get("visible").value) || 0));
  const seen = scores.map((s, j) => (j < count ? s : null));
  done = Math.max(0, Math.min(done, tiles));
  let state = { m: -Infinity, l: 0, o: 0 };
  const rows = [];
  for (let tile = 0; tile < done; ++tile) {
    const begin = tile * width;
    state = qkv.tile(state, seen.slice(begin, begin + width), values.slice(begin, begin + width));
    const row = document.createElement("tr");
    const numbers = state.skipped ? ["masked: skipped", "", "", "", ""] :
      [state.m.toFixed(1), state.r.toFixed(3), state.l.toFixed(3), state.o.toFixed(2), (state.o / state.l).toFixed(3)];
    row.innerHTML = `<td>${tile}</td>` + numbers.map((n) => `<td>${n}</td>`).join("");
    if (tile === done - 1) row.className = "now";
    rows.push(row);
  }
  get("steps").replaceChildren(...rows);
  for (const cell of document.querySelectorAll("[data-key]")) {
    const j = Number(cell.dataset.key);
    cell.className = (j >= count ? "masked " : "") + (done && Math.floor(j / width) === done - 1 ? "now" : "");
  }
  get("state").textContent = done === 0 ? "m = -infinity, l = 0, o = 0" :
    state.skipped ? `tile ${done - 1}: nothing is visible, nothing changes` :
    `tile ${done - 1}: largest score so far ${state.m.toFixed(1)}; what was carried is multiplied by r = ${state.r.toFixed(3)}`;
  const weights = qkv.softmax(seen);
  const all = weights.reduce((sum, w, j) => sum + w * values[j], 0);
  get("end").textContent = done < tiles ? `${tiles - done} tiles left` :
    `out = o / l = ${(state.l > 0 ? state.o / state.l : 0).toFixed(4)}; all keys at once: ${all.toFixed(4)}`;
}

inputs("score", scores);
inputs("value", values);
for (const id of ["width", "visible"]) get(id).addEventListener("input", () => { done = 0; draw(); });
get("step").addEventListener("click", () => { ++done; draw(); });
get("back").addEventListener("click", () => { --done; draw(); });
get("restart").addEventListener("click", () => { done = 0; draw(); });
draw();
