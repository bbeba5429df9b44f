// Compares attention.js with the library: build/doc/widget_numbers | node doc/learn/widget/check.js
"use strict";
const fs = require("fs");
const qkv = require("./attention.js");

const cases = JSON.parse(fs.readFileSync(0, "utf8"));
let worst = 0;
for (const { q, k, v, options, weights, out } of cases) {
  const ours = qkv.attention(q, k, v, options);
  const tiled = ours.scores.map((row) => {
    let state = { m: -Infinity, l: 0, o: 0 };
    for (let j = 0; j < row.length; j += 2)
      state = qkv.tile(state, row.slice(j, j + 2), v.slice(j, j + 2).map((value) => value[0]));
    return state.l > 0 ? state.o / state.l : 0;
  });
  weights.forEach((row, i) => row.forEach((w, j) => { worst = Math.max(worst, Math.abs(w - ours.weights[i][j])); }));
  out.forEach((row, i) => {
    row.forEach((y, e) => { worst = Math.max(worst, Math.abs(y - ours.out[i][e])); });
    worst = Math.max(worst, Math.abs(row[0] - tiled[i]));
  });
}
console.log(`${cases.length} cases, differences of at most ${worst.toExponential(1)}`);
if (cases.length < 8 || !(worst < 1e-5)) process.exit(1);
