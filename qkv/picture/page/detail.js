// The card with the selected head: its controls, the large view, and what is under the pointer.
const state = {panel: null, kind: "head", off: new Set(), lines: data.lines, own: false, row: -1, column: -1, zoom: 1, x: 0, y: 0};
const current = () => combined(state.panel, state.kind, state.off);
const largest = panel => state.own && panel.max > 0 ? panel.max : data.high;
const digits = data.bits === 8 ? 3 : 4;
const shown = value => Math.abs(value) < .5 * 10 ** -digits ? "0" : value.toFixed(digits);

const button = (text, title, act) => {
  const node = make("button", {type: "button", ...(title ? {title, "aria-label": title} : {})}, text);
  node.addEventListener("click", act);
  return node;
};
const title = make("h2", {dir: "auto"}), readout = make("output", {"aria-live": "polite"});
const stage = make("div", {class: "stage", tabindex: 0, role: "application"}), ramp = make("i");
const low = make("span"), high = make("span"), sides = make("span", {class: "sides"});
const views = ["Cells", "Lines"].map((name, at) => button(name, "", () => {
  Object.assign(state, {lines: at === 1, zoom: 1, x: 0, y: 0});
  show();
}));
const zooms = [button("\u2212", "smaller (-)", () => zoom(1 / 1.5)), button("fit", "fit to the window (0)", () => zoom(0)),
               button("+", "larger (+)", () => zoom(1.5))];
const own = make("input", {type: "checkbox"});
own.addEventListener("change", () => { state.own = own.checked; repaint(); show(); });
const kinds = make("select", {"aria-label": "heads shown"},
                   ...Object.entries(combinations).map(([kind, {name}]) => make("option", {value: kind}, name)));
kinds.addEventListener("change", () => { state.kind = kinds.value; show(); });
const chips = make("div", {class: "chips", role: "group", "aria-label": "heads in colors"});
const detail = make("section", {class: "card detail", "aria-label": "selected head"}, title,
    make("div", {class: "bar"}, kinds, make("div", {class: "views", role: "group", "aria-label": "view"}, ...views),
         make("div", {class: "views zooms", role: "group", "aria-label": "size"}, ...zooms),
         make("label", {}, own, "scale to its maximum")),
    readout, chips, stage, make("div", {class: "key"}, low, ramp, high, sides));

function tell(panel) {
  const {row, column} = state, bold = text => make("b", {dir: "auto"}, text);
  const value = number => make("span", {class: "value"}, shown(number));
  if (row >= 0 && column >= 0) {
    const out = ["query ", bold(panel.rows[row]), " \u2192 key ", bold(panel.columns[column])];
    if (!panel.parts) return [...out, value(weight(panel, row, column))];
    for (const part of [...panel.parts].sort((a, b) => weight(b, row, column) - weight(a, row, column)).slice(0, 4))
      out.push(` \u2003head ${numberOfHead(part)}`, value(weight(part, row, column)));
    return out;
  }
  if (row < 0 && column < 0)
    return [make("span", {class: "hint"}, "Point at a cell or a token, or use the arrow keys here, for weights; + enlarges.")];
  const others = row >= 0 ? panel.columns : panel.rows;
  const values = others.map((_, at) => row >= 0 ? weight(panel, row, at) : weight(panel, at, column));
  const best = values.map((_, at) => at).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, 4);
  const out = row >= 0 ? ["query ", bold(panel.rows[row]), " attends to"] : ["key ", bold(panel.columns[column]), " is attended to by"];
  for (const at of best) out.push(" \u2003", bold(others[at]), value(values[at]));
  return out;
}

// The picture has the height that is left of the window, so that it is visible as a whole when the page opens.
let room = 400;
function measure() {
  const others = detail.offsetHeight - stage.offsetHeight, above = detail.getBoundingClientRect().top + scrollY;
  room = Math.max(240, innerHeight - others - Math.min(above, 180) - 16);
}

function showTitle(panel) {
  const facts = [panel.does, panel.entropy === undefined || !panel.group.heads ? "" : `entropy ${panel.entropy.toFixed(2)}`,
                 panel.information === undefined || !panel.group.heads ? "" : `${panel.information.toFixed(2)} bits about the query`];
  title.replaceChildren(panel.title, make("small", {title:
      "entropy: 0 if every query attends to one key, 1 if evenly to all that it sees; bits: mutual information of query and key"},
      facts.filter(Boolean).join(" \u00b7 ")));
}
function showChips() {
  const overlay = state.kind === "overlay" && state.panel.group.heads > 0;
  chips.hidden = !overlay;
  ramp.hidden = low.hidden = high.hidden = overlay;
  if (!overlay) return;
  chips.replaceChildren(...partsOf(state.panel, "overlay").map(part => {
    const head = numberOfHead(part), chip = button(String(head), `head ${head}: ${part.does}`, () => {
      if (!state.off.delete(head)) state.off.add(head);
      if (partsOf(state.panel, "overlay").every(each => state.off.has(numberOfHead(each)))) state.off.clear();
      show();
    });
    chip.style.setProperty("--head", headCss(part));
    chip.setAttribute("aria-pressed", !state.off.has(head));
    return chip;
  }));
}

// All of the card, after another panel, view or size.
let view = null;
function show() {
  const panel = current(), palette = dark.matches ? data.dark : data.light;
  showTitle(panel);
  showChips();
  stage.setAttribute("aria-label", `${panel.title}: ${panel.rows.length} queries by ${panel.columns.length} keys`);
  views.forEach((each, at) => each.setAttribute("aria-pressed", state.lines === (at === 1)));
  kinds.hidden = state.panel.group.heads === 0 || state.panel.group.panels.length === 1;
  for (const option of kinds.options)  // where there is one layer, "all" is the same
    option.hidden = option.value.startsWith("all") && state.panel.group.panels.length === state.panel.group.heads;
  const caption = state.panel.group.caption || data.caption;
  sides.textContent = caption || (state.lines ? "left: queries, right: keys" : "rows: queries, columns: keys");
  ramp.style.background = `linear-gradient(to right, ${palette.filter((_, at) => at % 8 === 0).join(", ")})`;
  low.textContent = data.low < 0 ? (-largest(panel)).toPrecision(2) : "0";
  high.textContent = largest(panel).toPrecision(2);
  measure();
  place();
}
// The picture, after another size or part of it.
function place() {
  const panel = current();
  view = (state.lines ? lines : cells)(panel, Math.max(200, stage.clientWidth - 2), room);
  if (view.across) state.x = view.across.first;
  state.y = view.down.first;
  stage.replaceChildren(make("div", {class: "plot"}, ...view.nodes));
  stage.classList.toggle("zoomed", state.zoom > 1);
  zooms[0].disabled = zooms[1].disabled = state.zoom <= 1;
  zooms[2].disabled = view.fit * state.zoom >= view.limit;
  readout.replaceChildren(...tell(panel));
}
// What is under the pointer or the arrow keys.
function point(row, column) {
  if (row === state.row && column === state.column) return;
  Object.assign(state, {row, column});
  view.update();
  readout.replaceChildren(...tell(current()));
}

// Larger by a factor, or 0: all of it. What lies at (x, y) of the visible part stays there.
function zoom(factor, x = (view.across?.shown ?? 0) / 2, y = view.down.shown / 2) {
  const most = Math.max(1, view.limit / view.fit), to = factor ? Math.min(most, Math.max(1, state.zoom * factor)) : 1;
  const keep = (axis, at) => axis ? axis.first + at / axis.size - at / (view.fit * to) : 0;
  Object.assign(state, {x: keep(view.across, x), y: keep(view.down, y), zoom: to});
  place();
}
function reveal() {  // of an enlarged picture the part that has the chosen row and column
  const moved = (axis, at, from) => !axis || at < 0 ? from : Math.min(at, Math.max(from, at + 1 - axis.tokens));
  const x = moved(view.across, state.column, state.x);
  const y = moved(view.down, view.across ? state.row : Math.max(state.row, state.column), state.y);
  if (x === state.x && y === state.y) return;
  Object.assign(state, {x, y});
  place();
}
