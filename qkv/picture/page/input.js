// Pointer and keys on the large view.
const within = event => {
  const box = stage.firstChild.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
let dragged = null;
stage.addEventListener("pointerdown", event => {
  if (state.zoom <= 1) return;
  dragged = {x: event.clientX, y: event.clientY, from: [state.x, state.y]};
  stage.setPointerCapture(event.pointerId);
});
stage.addEventListener("pointermove", event => {
  if (!dragged) return point(...view.meaning(...within(event)));
  const size = view.down.size;
  Object.assign(state, {x: dragged.from[0] - (event.clientX - dragged.x) / size, y: dragged.from[1] - (event.clientY - dragged.y) / size});
  place();
});
for (const name of ["pointerup", "pointercancel"]) stage.addEventListener(name, () => { dragged = null; });
stage.addEventListener("pointerleave", () => { if (!dragged) point(-1, -1); });
stage.addEventListener("wheel", event => {  // a pinch on a trackpad arrives as such
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const [x, y] = within(event);
  zoom(Math.exp(-event.deltaY / 200), x - view.left, y - view.top);
}, {passive: false});
stage.addEventListener("dblclick", event => {
  const [x, y] = within(event);
  zoom(2, x - view.left, y - view.top);
});
stage.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const size = {"+": 1.5, "=": 1.5, "-": 1 / 1.5, "0": 0}[event.key];
  const move = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Escape: null}[event.key];
  if (size === undefined && move === undefined) return;
  event.preventDefault();
  if (size !== undefined) return zoom(size);
  if (move === null) return point(-1, -1);
  const panel = current(), kept = (at, last) => Math.min(last, Math.max(0, at));
  if (state.lines) {  // one side at a time
    const right = move[1] ? move[1] > 0 : state.column >= 0, at = Math.max(state.row, state.column) + move[0];
    const side = right ? panel.columns : panel.rows, index = kept(at, side.length - 1);
    point(right ? -1 : index, right ? index : -1);
  } else {
    point(kept(state.row + move[0], panel.rows.length - 1), kept(state.column + move[1], panel.columns.length - 1));
  }
  reveal();
});
