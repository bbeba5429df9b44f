// Compares transformer.js with the library: its translation and all weights, in the files of `qkv inspect --output x.json`.
//
//     node check_translation.js translation_model.js a.json b.json
"use strict";
const fs = require("fs");
const path = require("path");
const TranslationModel = require("./transformer.js");

const [file, ...inspections] = process.argv.slice(2);
const model = new TranslationModel(require(path.resolve(file)));
const tolerance = 1e-2; // the widget has 16-bit weights
let worst = 0, compared = 0;

function same(what, ours, theirs) {
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return;
  console.error(`${what}: ${JSON.stringify(ours)}, the library has ${JSON.stringify(theirs)}`);
  process.exitCode = 1;
}

for (const inspection of inspections) {
  const { metadata, groups } = JSON.parse(fs.readFileSync(inspection, "utf8"));
  const ours = model.translate(metadata.source, 200);
  same("translation", ours.text, metadata.translation);
  const parts = { "encoder self-attention": ["encoder", ours.source], "decoder self-attention": ["decoder", ours.target],
    "cross-attention": ["cross", ours.target] };
  for (const { title, panels } of groups) {
    const [part, rows] = parts[title];
    for (const panel of panels) {
      const [layer, head] = panel.title.match(/\d+/g).map(Number);
      same("rows", rows, panel.rows);
      same("columns", part === "decoder" ? ours.given : ours.source, panel.columns);
      panel.weights.forEach((row, i) => row.forEach((w, j) => {
        worst = Math.max(worst, Math.abs(w - ours[part][layer][head][i][j]));
        ++compared;
      }));
    }
  }
}
console.log(`${inspections.length} sentences, ${compared} weights, differences of at most ${worst.toExponential(1)}`);
if (inspections.length === 0 || compared === 0 || !(worst < tolerance)) process.exitCode = 1;
