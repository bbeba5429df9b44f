#include "qkv/picture/evaluation_page_parts.h"

namespace qkv {

const std::string_view evaluation_page_script = R"js("use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
const systems = data.systems, count = data.references[0].length;
const attention = new Map(data.attention.map(page => [page.sentence, page.html]));
const pageSize = 50;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// Words and the spaces between them; a text without spaces, such as Chinese, is compared by character.
function pieces(text) {
  const words = text.split(/(\s+)/).filter(Boolean);
  return words.length === 1 && words[0].length > 1 && /[^\u0000-\u024f]/.test(words[0]) ? Array.from(words[0]) : words;
}
const isWord = piece => !/^\s+$/.test(piece);

// Which words of both texts are in their longest common subsequence.
function common(a, b) {
  const inA = new Uint8Array(a.length), inB = new Uint8Array(b.length);
  let first = 0, lastA = a.length, lastB = b.length;
  while (first < lastA && first < lastB && a[first] === b[first]) { inA[first] = inB[first] = 1; ++first; }
  while (lastA > first && lastB > first && a[lastA - 1] === b[lastB - 1]) { inA[--lastA] = 1; inB[--lastB] = 1; }
  const rows = lastA - first, columns = lastB - first, width = columns + 1;
  if (rows * columns > 4e6) return [inA, inB];  // too long to compare word by word
  const lengths = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; --i)
    for (let j = columns - 1; j >= 0; --j)
      lengths[i * width + j] = a[first + i] === b[first + j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (a[first + i] === b[first + j]) { inA[first + i++] = 1; inB[first + j++] = 1; }
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) ++i;
    else ++j;
  }
  return [inA, inB];
}

// The text with its words marked that are not known; neighbors share a mark.
function marked(parts, known) {
  const node = make("span", {class: "text", dir: "auto"});
  if (!parts.length) node.append(make("span", {class: "empty"}, "empty"));
  const unknown = i => i < parts.length && isWord(parts[i]) && !known(i);
  for (let i = 0; i < parts.length;) {
    if (!unknown(i)) { node.append(parts[i++]); continue; }
    let text = "";
    do {
      text += parts[i++];
      if (i < parts.length && !isWord(parts[i]) && unknown(i + 1)) text += parts[i++];
    } while (unknown(i));
    node.append(make("mark", {}, text));
  }
  return node;
}

// The words alone, and where each is among the pieces.
function wordsOf(parts) {
  const at = parts.map((piece, i) => i).filter(i => isWord(parts[i]));
  return {words: at.map(i => parts[i]), number: new Map(at.map((i, n) => [i, n]))};
}

function row(kind, name, text, score = "") {
  return make("div", {class: "row " + kind}, make("span", {class: "name", title: name}, name), text,
              make("span", {class: "score"}, score));
}
const plain = text => make("span", {class: "text", dir: "auto"}, text);

function scoreOf(system, i) {
  const node = document.createDocumentFragment();
  node.append("chrF ", make("b", {}, system.chrf[i].toFixed(1)), " BLEU ", make("b", {}, system.bleu[i].toFixed(1)));
  return node;
}

function attentionButton(card, i) {
  const label = "Attention of " + data.attentionOf, button = make("button", {type: "button", "aria-expanded": "false"}, label);
  button.addEventListener("click", () => {
    const open = card.querySelector("iframe");
    button.setAttribute("aria-expanded", String(!open));
    if (open) return open.remove();
    card.append(make("iframe", {sandbox: "allow-scripts", title: label, srcdoc: attention.get(i)}));
  });
  return button;
}

function sentenceCard(i) {
  const card = make("article", {class: "sentence"});
  if (data.sources.length) card.append(row("source", "source", plain(data.sources[i]), "line " + (i + 1)));
  const references = data.references.map(lines => {
    const parts = pieces(lines[i]);
    return {parts, ...wordsOf(parts), found: new Set()};
  });
  const outputs = systems.map(system => {
    const parts = pieces(system.lines[i]), own = wordsOf(parts);
    let best = null;  // of several references the closest one
    for (const reference of references) {
      const [inOutput, inReference] = common(own.words, reference.words);
      const size = inOutput.reduce((sum, x) => sum + x, 0);
      if (!best || size > best.size) best = {size, inOutput, inReference, reference};
    }
    best.inReference.forEach((x, n) => { if (x) best.reference.found.add(n); });
    return row("output", system.name, marked(parts, at => best.inOutput[own.number.get(at)]), scoreOf(system, i));
  });
  references.forEach((reference, r) => {
    const used = reference.found.size > 0 || references.length === 1;
    const text = marked(reference.parts, at => !used || reference.found.has(reference.number.get(at)));
    const name = references.length > 1 ? "reference " + (r + 1) : "reference";
    card.append(row("reference", name, text, data.sources.length || r ? "" : "line " + (i + 1)));
  });
  card.append(...outputs);
  if (attention.has(i)) card.append(attentionButton(card, i));
  return card;
}

// The orders: each gives a number per sentence, the smallest is shown first.
const orders = [];
for (const [s, system] of systems.entries())
  orders.push({label: "worst of " + system.name, value: (i, metric) => system[metric][i]});
for (const system of systems.slice(1)) {
  const difference = (i, metric) => system[metric][i] - systems[0][metric][i];
  orders.push({label: system.name + " worse than " + systems[0].name, value: difference});
  orders.push({label: system.name + " better than " + systems[0].name, value: (i, metric) => -difference(i, metric)});
}
if (attention.size) orders.push({label: "with attention", value: (i, metric) => attention.has(i) ? 0 : 1});
orders.push({label: "order of the file", value: i => i});

const order = make("select", {}, ...orders.map((o, n) => make("option", {value: n}, o.label)));
const metric = make("select", {}, make("option", {value: "chrf"}, "chrF"), make("option", {value: "bleu"}, "BLEU"));
const filter = make("input", {type: "search", placeholder: "words in any line"});
const shown = make("span", {class: "count", "aria-live": "polite"});
const list = make("div"), more = make("button", {type: "button", class: "more"}, "Show more");
let chosen = [], drawn = 0;

function drawMore() {
  list.append(...chosen.slice(drawn, drawn + pageSize).map(sentenceCard));
  drawn = Math.min(chosen.length, drawn + pageSize);
  more.hidden = drawn === chosen.length;
  shown.textContent = `${drawn} of ${chosen.length} sentences`;
}
function update() {
  const value = orders[order.value].value, wanted = filter.value.trim().toLowerCase();
  const lines = [...(data.sources.length ? [data.sources] : []), ...data.references, ...systems.map(s => s.lines)];
  chosen = Array.from({length: count}, (_, i) => i)
      .filter(i => !wanted || lines.some(texts => texts[i].toLowerCase().includes(wanted)));
  const keys = new Map(chosen.map(i => [i, value(i, metric.value)]));
  chosen.sort((a, b) => keys.get(a) - keys.get(b) || a - b);
  list.replaceChildren();
  drawn = 0;
  drawMore();
}
order.addEventListener("change", update);
metric.addEventListener("change", update);
filter.addEventListener("input", update);
more.addEventListener("click", drawMore);
main.append(make("div", {class: "bar"}, make("label", {}, "Sort by", order), make("label", {}, "score", metric),
                 make("label", {}, "find", filter), shown),
            make("p", {class: "key"}, make("mark", {}, "marked"), " words of an output differ from the reference, ",
                 make("mark", {class: "missed"}, "marked"), " words of the reference are in no output"),
            list, more);
update();
)js";

}  // namespace qkv
