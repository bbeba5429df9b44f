// Cells on a canvas: the thumbnails, and the body of the large view.
const rgb = color => [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16));
const packedColor = ([red, green, blue]) => (255 << 24 | blue << 16 | green << 8 | red) >>> 0;

// A color for each head of an overlay, evenly around the circle of hues, as [red, green, blue].
function headColor(number, count) {
  const hue = (215 + 360 * number / count) % 360, light = (dark.matches ? .68 : .42) + (count > 8 && number % 2 ? .1 : 0);
  const strength = .72 * Math.min(light, 1 - light);
  return [0, 8, 4].map(n => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - strength * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}
const headCss = part => `rgb(${headColor(numberOfHead(part), part.group.heads).join(" ")})`;

// From a weight and the number of its head in an overlay to a pixel.
function colorOf(panel) {
  const scale = (dark.matches ? data.dark : data.light).map(rgb), last = scale.length - 1;
  const high = largest(panel), low = data.low < 0 ? -high : 0;
  const step = value => Math.round(Math.min(1, Math.max(0, (value - low) / (high - low))) * last);
  if (!panel.parts) {
    const palette = Uint32Array.from(scale, packedColor);
    return value => palette[step(value)];
  }
  const ground = scale[low < 0 ? last / 2 : 0];
  const palettes = panel.parts.map(part => {
    const color = headColor(numberOfHead(part), part.group.heads);
    return Uint32Array.from(scale, (_, at) => packedColor(ground.map((from, c) => from + (color[c] - from) * at / last)));
  });
  return (value, i) => palettes[panel.strongest[i]][step(value)];
}

// The cells that fall into each of `count` pixels, of `size` cells from `first` on: a list of beginnings. Every cell falls
// into one pixel; where a cell is larger than a pixel, it has several.
function beginnings(first, size, count, cells) {
  return Uint32Array.from({length: count + 1}, (_, at) => Math.min(cells, Math.floor(first + at * size / count + 1e-6)));
}

// Draws the part of a panel that `view` has ({x, y, across, down} in cells) over the whole canvas. Of cells that share a
// pixel the largest weight is shown: a diagonal of single cells does not vanish.
function paint(panel, canvas, view = {x: 0, y: 0, across: panel.columns.length, down: panel.rows.length}) {
  const {width, height} = canvas, columns = panel.columns.length, color = colorOf(panel);
  if (!width || !height) return;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const left = beginnings(view.x, view.across, width, columns), top = beginnings(view.y, view.down, height, panel.rows.length);
  for (let y = 0; y < height; ++y) {
    if (y > 0 && top[y] === top[y - 1]) {
      pixels.copyWithin(y * width, (y - 1) * width, y * width);  // a row of cells that has several pixels
      continue;
    }
    for (let x = 0; x < width; ++x) {
      let best = top[y] * columns + left[x];
      for (let i = top[y]; i < Math.max(top[y] + 1, top[y + 1]); ++i)
        for (let j = left[x]; j < Math.max(left[x] + 1, left[x + 1]); ++j) {
          const at = i * columns + j;
          if (Math.abs(panel.weights[at]) > Math.abs(panel.weights[best])) best = at;
        }
      pixels[y * width + x] = color(panel.weights[best], best);
    }
  }
  context.putImageData(image, 0, 0);
}

// A canvas with a pixel for each pixel of the screen.
function resized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  Object.assign(canvas, {width: Math.max(1, Math.round(width * ratio)), height: Math.max(1, Math.round(height * ratio))});
  return ratio;
}
