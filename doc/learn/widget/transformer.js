// The encoder-decoder Transformer that `qkv demo` trains, forward only: pre-LN blocks, characters as tokens, greedy search.
// Attention is that of attention.js. doc/learn/widget/check_translation.js compares tokens and weights with the library.
"use strict";

const attention_formula = typeof module !== "undefined" ? require("./attention.js") : qkv;

function product(x, row) {
  let sum = 0;
  for (let c = 0; c < row.length; ++c) sum += x[c] * row[c];
  return sum;
}

class TranslationModel {
  // What translation_model.py writes: pieces, and f16 weights { name: [offset, rows, columns] } in base64.
  constructor(given) {
    Object.assign(this, given);
    const bytes = Uint8Array.from(atob(given.data), (c) => c.charCodeAt(0));
    const halves = new Uint16Array(bytes.buffer);
    const number = (h) => {
      const exponent = (h >> 10) & 31, mantissa = h & 1023, sign = h & 0x8000 ? -1 : 1;
      return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25));
    };
    this.weights = {};
    for (const [name, [offset, rows, columns]] of Object.entries(given.shapes)) {
      const row = (i, n) => Float64Array.from(halves.subarray(offset + i * n, offset + (i + 1) * n), number);
      this.weights[name] = columns ? Array.from({ length: rows }, (_, i) => row(i, columns)) : row(0, rows);
    }
    this.ids = new Map(this.pieces.map((piece, id) => [piece, id]));
  }

  // Characters as pieces; a space is U+2581, one stands in front. Unknown characters side by side are one token.
  tokens(text) {
    const characters = [..."\u2581" + text.normalize("NFKC").trim().replace(/\s+/g, "\u2581")], found = [];
    for (const piece of characters) {
      const known = this.ids.has(piece), last = found[found.length - 1];
      if (!known && last && !last.known) last.piece += piece;
      else found.push({ piece, known, id: this.ids.get(known ? piece : "<unk>") });
    }
    return [...found, { piece: "</s>", known: true, id: this.ids.get("</s>") }];
  }

  // embedding(id) sqrt(C) + sinusoidal position
  embed(ids) {
    const C = this.d_model;
    return ids.map((id, p) => this.weights.source_embedding[id].map((x, c) => {
      const angle = p / 10000 ** ((c - (c % 2)) / C);
      return x * Math.sqrt(C) + (c % 2 ? Math.cos(angle) : Math.sin(angle));
    }));
  }

  linear(rows, name) {
    const weight = this.weights[`${name}.weight`], bias = this.weights[`${name}.bias`];
    return rows.map((x) => bias.map((b, o) => b + product(x, weight[o])));
  }

  norm(rows, name) {
    const weight = this.weights[`${name}.weight`], bias = this.weights[`${name}.bias`];
    return rows.map((x) => {
      const mean = x.reduce((a, b) => a + b, 0) / x.length;
      const variance = x.reduce((sum, y) => sum + (y - mean) ** 2, 0) / x.length;
      return x.map((y, c) => ((y - mean) / Math.sqrt(variance + this.norm_eps)) * weight[c] + bias[c]);
    });
  }

  // Multi-head attention: { out (T,C), weights (H,T,S) }
  attend(from, to, name, mask) {
    const [q, k, v] = [[from, "query"], [to, "key"], [to, "value"]].map(([x, part]) => this.linear(x, `${name}.${part}`));
    const D = this.d_model / this.heads, joined = from.map(() => []), weights = [];
    for (let h = 0; h < this.heads; ++h) {
      const head = (rows) => rows.map((x) => Array.from(x.slice(h * D, (h + 1) * D)));
      const result = attention_formula.attention(head(q), head(k), head(v), { mask });
      weights.push(result.weights);
      result.out.forEach((row, i) => joined[i].push(...row));
    }
    return { out: this.linear(joined, `${name}.out`), weights };
  }

  feedForward(rows, name) {
    return this.linear(this.linear(rows, `${name}.up`).map((x) => x.map((y) => Math.max(0, y))), `${name}.down`);
  }

  static add(a, b) { return a.map((row, i) => row.map((x, c) => x + b[i][c])); }

  // x + sublayer(norm(x)) for each sublayer; log gets the weights of each attention.
  encode(ids) {
    let x = this.embed(ids);
    const log = [];
    for (let n = 0; n < this.encoder_layers; ++n) {
      const name = `encoder.layers.${n}`, y = this.norm(x, `${name}.norm1`);
      const { out, weights } = this.attend(y, y, `${name}.self_attention`, "full");
      log.push(weights);
      x = TranslationModel.add(x, out);
      x = TranslationModel.add(x, this.feedForward(this.norm(x, `${name}.norm2`), `${name}.feed_forward`));
    }
    return { memory: this.norm(x, "encoder.norm"), weights: log };
  }

  decode(ids, memory) {
    let x = this.embed(ids);
    const self = [], cross = [];
    for (let n = 0; n < this.decoder_layers; ++n) {
      const name = `decoder.layers.${n}`, y = this.norm(x, `${name}.norm1`);
      const own = this.attend(y, y, `${name}.self_attention`, "causal");
      x = TranslationModel.add(x, own.out);
      const source = this.attend(this.norm(x, `${name}.norm2`), memory, `${name}.cross_attention`, "full");
      x = TranslationModel.add(x, source.out);
      x = TranslationModel.add(x, this.feedForward(this.norm(x, `${name}.norm3`), `${name}.feed_forward`));
      self.push(own.weights);
      cross.push(source.weights);
    }
    const last = this.norm(x, "decoder.norm").at(-1);
    return { logits: this.weights.source_embedding.map((row) => product(last, row)), self, cross };
  }

  // Greedy search: { text, source, target, encoder, decoder, cross }, the weights as [layer][head][row][column]; the rows of
  // the decoder are the tokens that it predicts. All earlier positions are computed again in each step, without a cache.
  translate(text, longest = 40) {
    const source = this.tokens(text), end = this.ids.get("</s>");
    const { memory, weights } = this.encode(source.map(({ id }) => id));
    const given = [this.ids.get("<s>")], target = [];
    let step;
    do {
      step = this.decode(given, memory);
      const best = step.logits.indexOf(Math.max(...step.logits));
      given.push(best);
      target.push(best);
    } while (target.at(-1) !== end && target.length < longest);
    const words = target.filter((id) => id !== end).map((id) => this.pieces[id]).join("");
    return {
      text: words.replaceAll("\u2581", " ").trim(),
      source: source.map(({ piece, known }) => (known ? piece : "<unk>")), unknown: source.filter(({ known }) => !known).map(({ piece }) => piece),
      target: target.map((id) => this.pieces[id]), given: given.slice(0, -1).map((id) => this.pieces[id]),
      encoder: weights, decoder: step.self, cross: step.cross,
    };
  }
}

if (typeof module !== "undefined") module.exports = TranslationModel;
