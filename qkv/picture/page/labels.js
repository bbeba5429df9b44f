// Labels: measured, shortened between whole characters, the space mark faint, thinned where they would overlap.
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
const widest = (texts, font, longest) =>
    Math.max(...texts.map(text => Math.min(widthOf(text, font), longest)), 0);

// The smallest of 1, 2, 5, 10, 20, 50, ... labels to skip from, so that labels are `pitch` pixels apart.
function labelStep(cell, pitch) {
  for (let decade = 1;; decade *= 10)
    for (const digit of [1, 2, 5])
      if (digit * decade * cell >= pitch) return digit * decade;
}
// Which of the tokens from `first` to `last` have a label: every few, and the chosen one instead of its neighbors.
function labelled(first, last, step, chosen) {
  const out = [];
  for (let i = Math.ceil(first / step) * step; i <= last; i += step)
    if (chosen < 0 || i === chosen || Math.abs(i - chosen) >= step) out.push(i);
  if (chosen >= first && chosen <= last && !out.includes(chosen)) out.push(chosen);
  return out;
}
const emphasis = (index, chosen) => chosen < 0 ? "" : index === chosen ? "on" : "dim";
