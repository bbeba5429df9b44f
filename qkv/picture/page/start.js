// The maps, one button for every panel, and the start of the page.
const maps = make("div", {class: "maps"});
const orders = {
  layers: ["layers", null],
  information: ["information about the query", (a, b) => b.information - a.information],
  entropy: ["entropy, focused first", (a, b) => a.entropy - b.entropy],
};
const order = make("select", {}, ...Object.entries(orders).map(([key, [name]]) => make("option", {value: key}, name)));
const grids = [];

function choose(panel, focus) {
  if (panel.group !== state.panel?.group) Object.assign(state, {zoom: 1, x: 0, y: 0});
  Object.assign(state, {panel, row: -1, column: -1});
  for (const each of panels) {
    each.button.setAttribute("aria-pressed", each === panel);
    each.button.tabIndex = each === panel ? 0 : -1;
  }
  if (focus) panel.button.focus();
  show();
}

function buttonOf(panel) {
  panel.canvas = make("canvas", {style: `aspect-ratio:${panel.columns.length}/${panel.rows.length}`});
  const what = [panel.title, panel.does].filter(Boolean).join(": ");
  panel.button = make("button", {type: "button", class: "map", "aria-label": what, title: what}, panel.canvas);
  panel.button.addEventListener("click", () => {
    choose(panel);
    if (detail.getBoundingClientRect().bottom < 80) detail.scrollIntoView({behavior: "smooth"});
  });
  panel.button.addEventListener("keydown", event => {  // the arrow keys select the next one of those that are shown
    const all = grids.flatMap(grid => grid.order), line = panel.group.perLine;
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -line, ArrowDown: line}[event.key];
    const next = step && all[all.indexOf(panel) + step];
    if (!next) return;
    event.preventDefault();
    choose(next, true);
  });
}

function gridOf(group) {
  const across = Math.min(group.perLine, group.panels.length), grid = make("div", {class: "grid"});
  const fill = () => {
    const by = group.heads ? orders[order.value][1] : null;
    grid.order = by ? [...group.panels].sort(by) : group.panels;
    const layers = by ? [] : group.lineTitles, heads = by ? [] : group.columnTitles;
    grid.style.gridTemplateColumns = `${layers.length ? "auto " : ""}repeat(${across}, minmax(0, ${across > 4 ? 120 : 170}px))`;
    grid.replaceChildren();
    if (heads.length) {
      if (layers.length) grid.append(make("span"));
      grid.append(...heads.slice(0, across).map(text => make("span", {class: "head"}, text)));
    }
    grid.order.forEach((panel, index) => {
      if (layers.length && index % group.perLine === 0) grid.append(make("span", {class: "layer"}, layers[index / group.perLine]));
      const above = !heads.length && panel.name ? [make("div", {class: "head"}, panel.name)] : [];
      const below = panel.does ? [make("div", {class: "does"}, panel.does)] : [];
      grid.append(make("div", {}, ...above, panel.button, ...below));
    });
  };
  return Object.assign(grid, {fill});
}

function repaint() {
  for (const panel of panels) {
    if (!panel.canvas.clientWidth) continue;
    resized(panel.canvas, panel.canvas.clientWidth, panel.canvas.clientHeight);
    paint(panel, panel.canvas);
  }
}

async function start() {
  if (typeof DecompressionStream !== "function") throw new Error("this page needs a browser of 2023 or later");
  unpack(await inflated(data.weights));
  panels.forEach(buttonOf);
  for (const group of data.groups) {
    const grid = gridOf(group);
    grids.push(grid);
    grid.fill();
    maps.append(make("section", {class: "card"}, ...(group.title ? [make("h2", {}, group.title)] : []), grid));
  }
  if (data.groups.some(group => group.heads && group.panels.length > 1)) {
    order.addEventListener("change", () => { grids.forEach(grid => grid.fill()); repaint(); });
    maps.prepend(make("label", {class: "order"}, "heads in the order of ", order));
  }
  main.classList.toggle("single", panels.length === 1);
  main.append(...(panels.length === 1 ? [] : [maps]), detail);
  const opened = data.groups[data.selected].panels[data.opened] || panels[0];
  own.checked = state.own = opened.max < data.high / 3;  // on the common scale it would look empty
  repaint();
  choose(opened);
  dark.addEventListener("change", () => { repaint(); show(); });
  addEventListener("resize", () => { repaint(); show(); });
}
start().catch(error => {
  main.append(make("p", {}, `The picture cannot be drawn: ${error.message}. Saved as .svg it needs no script.`));
  throw error;
});
