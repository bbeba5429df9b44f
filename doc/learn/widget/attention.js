// Attention for the widgets: scores, mask, softmax and output of one head in double precision, and the same tile by tile.
// doc/learn/widget/check.js compares it with the library.
"use strict";

const qkv = {
  dot(a, b) { return a.reduce((sum, x, i) => sum + x * b[i], 0); },

  // The score of a query and a key, by name; divided by the temperature.
  score(q, k, { score = "scaled dot", temperature = 1, width = 1 } = {}) {
    const squared = q.reduce((sum, x, i) => sum + (x - k[i]) ** 2, 0);
    const s = {
      "scaled dot": () => qkv.dot(q, k) / Math.sqrt(q.length),
      "dot": () => qkv.dot(q, k),
      "cosine": () => qkv.dot(q, k) / (Math.hypot(...q) * Math.hypot(...k) || 1),
      "Gaussian": () => -squared / (2 * width * width),
    }[score]();
    return s / temperature;
  },

  // Whether query i of T sees key j of S; the last query sees the last key.
  visible(mask, i, j, T, S) {
    const p = i + S - T;
    return { full: true, causal: j <= p, "window of 2": j <= p && j >= p - 1, "first 2 keys": j < 2 }[mask];
  },

  // Weights of a row of scores; those of keys that are not visible are null.
  softmax(scores) {
    const seen = scores.filter((s) => s !== null);
    if (seen.length === 0) return scores.map(() => 0);
    const m = Math.max(...seen);
    const powers = scores.map((s) => (s === null ? 0 : Math.exp(s - m)));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((p) => p / sum);
  },

  // { scores, weights, out } of q (T,D), k (S,D), v (S,E).
  attention(q, k, v, options = {}) {
    const scores = q.map((row, i) => k.map((key, j) =>
      qkv.visible(options.mask || "full", i, j, q.length, k.length) ? qkv.score(row, key, options) : null));
    const weights = scores.map(qkv.softmax);
    const out = weights.map((w) => v[0].map((_, e) => w.reduce((sum, x, j) => sum + x * v[j][e], 0)));
    return { scores, weights, out };
  },

  // One step of the online softmax: the state { m, l, o } after a tile of scores (null: masked) and values.
  tile({ m, l, o }, scores, values) {
    const seen = scores.filter((s) => s !== null);
    if (seen.length === 0) return { m, l, o, r: 1, p: scores.map(() => 0), skipped: true };
    const next = Math.max(m, ...seen);
    const r = Math.exp(m - next);
    const p = scores.map((s) => (s === null ? 0 : Math.exp(s - next)));
    return { m: next, l: r * l + p.reduce((a, b) => a + b, 0), o: r * o + qkv.dot(p, values), r, p, skipped: false };
  },
};

if (typeof module !== "undefined") module.exports = qkv;
