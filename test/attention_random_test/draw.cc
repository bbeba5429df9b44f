#include "test/attention_random_test/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/mask_mod.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/relative_bias.h"
#include "qkv/attention/modify/softcap.h"
#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "test/attention_random_test/dice.h"

namespace qkv::test {
namespace {

Tensor numbers(Dice& dice, const Shape& shape, double spread) {
  Tensor x = Tensor::empty(shape);
  for (float& value : x.span<float>()) value = dice.normal(spread);
  return x;
}

// (B,H,T,D) in memory as it is, as (B,T,H,D), or with gaps behind the rows.
Tensor laid_out(Dice& dice, const Shape& s, double spread, DType dtype) {
  switch (dice.between(0, 2)) {
    case 0: return numbers(dice, {s[0], s[2], s[1], s[3]}, spread).to(dtype).transpose(1, 2);
    case 1: return numbers(dice, {s[0], s[1], s[2], s[3] + 3}, spread).to(dtype).slice(3, 2, 2 + s[3]);
    default: return numbers(dice, s, spread).to(dtype);
  }
}

Tensor ids(Dice& dice, const Shape& shape, int64_t most) {
  Tensor x = Tensor::empty(shape, DType::i32);
  for (int32_t& value : x.span<int32_t>()) value = static_cast<int32_t>(dice.between(0, most));
  return x;
}

DrawnMask draw_lengths(Dice& dice, const AttentionShape& n) {
  const bool per_query = dice.one_in(2);
  const Tensor lengths = ids(dice, per_query ? Shape{n.B, n.T} : Shape{n.B}, n.S);
  return {[=](int64_t first, int64_t rows) { return padding(lengths.slice(0, first, first + rows)); },
          [=](int64_t b, int64_t, int64_t i, int64_t j) {
            return j < (per_query ? lengths.at<int32_t>({b, i}) : lengths.at<int32_t>({b}));
          }};
}

DrawnMask draw_documents(Dice& dice, const AttentionShape& n) {
  const int64_t most = dice.between(0, 5);
  const Tensor q = ids(dice, {n.B, n.T}, most), k = ids(dice, {n.B, n.S}, most);
  if (!dice.one_in(3))
    for (int64_t b = 0; b < n.B; ++b)
      for (Tensor row : {q.select(0, b), k.select(0, b)}) {
        const auto x = row.span<int32_t>();
        std::sort(x.begin(), x.end());
      }
  return {[=](int64_t first, int64_t rows) {
            return documents(q.slice(0, first, first + rows), k.slice(0, first, first + rows));
          },
          [=](int64_t b, int64_t, int64_t i, int64_t j) {
            return q.at<int32_t>({b, i}) == k.at<int32_t>({b, j});
          }};
}

DrawnMask draw_table(Dice& dice, const AttentionShape& n) {
  const auto axis = [&](int64_t length) { return dice.one_in(3) ? 1 : length; };
  Tensor table = Tensor::empty({axis(n.B), axis(n.H), axis(n.T), axis(n.S)}, DType::u8);
  const int64_t share = dice.between(1, 4);
  for (uint8_t& x : table.span<uint8_t>()) x = dice.between(0, 4) < share;
  return {[=](int64_t first, int64_t rows) {
            return dense(table.dim(0) == 1 ? table : table.slice(0, first, first + rows));
          },
          [=](int64_t b, int64_t h, int64_t i, int64_t j) {
            const auto at = [&](int a, int64_t index) { return table.dim(a) == 1 ? 0 : index; };
            return table.at<uint8_t>({at(0, b), at(1, h), at(2, i), at(3, j)}) != 0;
          }};
}

DrawnMask draw_rule(Dice& dice) {
  const int64_t period = dice.between(2, 90), open = dice.between(1, period);
  const bool per_batch = dice.one_in(2), per_head = dice.one_in(2);
  const auto rule = [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    return (3 * i + j + (per_batch ? 7 * b : 0) + (per_head ? 5 * h : 0)) % period < open;
  };
  return {[=](int64_t first, int64_t) {
            return mask_mod([=](auto b, auto h, auto i, auto j) { return rule(b + first, h, i, j); },
                            {.per_batch = per_batch, .per_head = per_head});
          },
          rule};
}

DrawnMask draw_position(Dice& dice, const AttentionShape& n) {
  if (dice.one_in(3)) {
    const int64_t left = dice.between(-1, 80), right = dice.between(-1, 80);
    return {[=](int64_t, int64_t) { return window(left, right); },
            [=](int64_t, int64_t, int64_t i, int64_t j) {
              const int64_t p = i + n.S - n.T;
              return (left < 0 || p - left <= j) && (right < 0 || j <= p + right);
            }};
  }
  const bool moved = dice.one_in(3);
  const int64_t offset = moved ? dice.between(-50, 50) : n.S - n.T;
  return {[=](int64_t, int64_t) { return moved ? causal(offset) : causal(); },
          [=](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + offset; }};
}

DrawnMask draw_mask(Dice& dice, const AttentionShape& n, int depth) {
  if (depth > 0 && dice.one_in(2)) {
    const DrawnMask a = draw_mask(dice, n, depth - 1), b = draw_mask(dice, n, depth - 1);
    switch (dice.between(0, 3)) {
      case 0:
        return {[=](int64_t first, int64_t rows) { return !a.of_rows(first, rows); },
                [=](auto... at) { return !a.sees(at...); }};
      case 1:
        return {[=](int64_t first, int64_t rows) { return a.of_rows(first, rows) | b.of_rows(first, rows); },
                [=](auto... at) { return a.sees(at...) || b.sees(at...); }};
      default:
        return {[=](int64_t first, int64_t rows) { return a.of_rows(first, rows) & b.of_rows(first, rows); },
                [=](auto... at) { return a.sees(at...) && b.sees(at...); }};
    }
  }
  switch (dice.between(0, 6)) {
    case 0: return draw_lengths(dice, n);
    case 1: return draw_documents(dice, n);
    case 2: return draw_table(dice, n);
    case 3: return draw_rule(dice);
    default: return draw_position(dice, n);
  }
}

DrawnModifier draw_modifier(Dice& dice, const AttentionShape& n) {
  const Variable::Options learnt{.requires_grad = !dice.one_in(4)};
  switch (dice.between(0, 3)) {
    case 0: return {.kind = DrawnModifier::softcap, .cap = static_cast<float>(dice.between(1, 40)) / 2};
    case 1: {
      const auto axis = [&](int64_t length) { return dice.one_in(2) ? 1 : length; };
      Tensor x = numbers(dice, {axis(n.B), axis(n.H), axis(n.T), axis(n.S)}, 1);
      if (dice.one_in(3))
        for (float& value : x.span<float>())
          if (dice.one_in(5)) value = -std::numeric_limits<float>::infinity();
      return {.kind = DrawnModifier::bias, .parameter = {x, learnt}};
    }
    case 2: return {.kind = DrawnModifier::alibi, .parameter = {numbers(dice, {n.H}, 0.05), learnt}};
    default: {
      const RelativeBuckets buckets{dice.one_in(2), dice.between(4, 40), dice.between(30, 200)};
      return {.kind = DrawnModifier::relative,
              .buckets = buckets,
              .parameter = {numbers(dice, {buckets.num_buckets, n.H}, 1), learnt}};
    }
  }
}

AttentionShape draw_shape(Dice& dice, int64_t most_work) {
  AttentionShape n;
  n.B = dice.between(1, 3);
  n.G = dice.between(1, 3);
  n.H = n.G * dice.between(1, 3);
  const bool decoding = dice.one_in(5);  // few queries over many keys have a path of their own
  n.T = decoding ? dice.between(1, 4) : dice.length();
  n.S = decoding ? dice.between(1, 1400) : dice.length();
  n.D = dice.width();
  n.E = dice.one_in(2) ? n.D : dice.width();
  const auto work = [&] { return n.B * n.H * n.T * n.S * (n.D + n.E); };
  while (work() > most_work && n.B > 1) --n.B;
  if (work() > most_work) n.H = n.G;
  if (work() > most_work) n.H = n.G = 1;
  while (16 * n.T * n.S > most_work) (n.T > n.S ? n.T : n.S) /= 2;  // there is a width that fits
  while (work() > most_work) (dice.one_in(2) ? n.D : n.E) = dice.between(1, 64);
  return n;
}

std::vector<float> factors_of(const ReweigherPtr& dropout, const AttentionShape& n) {
  std::vector<float> factors(static_cast<size_t>(n.B * n.H * n.T * n.S), 1.0f);
  if (!dropout) return factors;
  for (int64_t bh = 0; bh < n.B * n.H; ++bh)
    for (int64_t query = 0; query < n.T; query += max_block_queries)
      for (int64_t key = 0; key < n.S; ++key) {
        float one_key[max_block_queries];
        std::fill_n(one_key, max_block_queries, 1.0f);
        const int64_t queries = std::min(max_block_queries, n.T - query);
        dropout->multiply({{&n, bh / n.H, bh % n.H, query, queries, max_block_queries}, key, 1}, one_key);
        for (int64_t i = 0; i < queries; ++i) factors[(bh * n.T + query + i) * n.S + key] = one_key[i];
      }
  return factors;
}

ModifierPtr part_of(const DrawnModifier& m, int64_t first, int64_t rows, int64_t whole) {
  switch (m.kind) {
    case DrawnModifier::softcap: return softcap(m.cap);
    case DrawnModifier::alibi: return alibi(m.parameter);
    case DrawnModifier::relative: return relative_bias(m.parameter, m.buckets);
    case DrawnModifier::bias: break;
  }
  const bool all = rows == whole || m.parameter.dim(0) == 1;
  return bias(all ? m.parameter : Variable(m.parameter.value().slice(0, first, first + rows)));
}

// |q_i - k_j| of every visible pair, sorted.
std::vector<double> distances_of(const Drawn& call) {
  const AttentionShape& n = call.n;
  const auto read = [](const Tensor& x) {
    const Tensor packed = (x.dtype() == DType::f32 ? x : x.to(DType::f32)).contiguous_copy();
    return std::vector<float>(packed.span<float>().begin(), packed.span<float>().end());
  };
  const std::vector<float> q = read(call.q), k = read(call.k);
  std::vector<double> distances;
  for (int64_t at = 0; at < n.B * n.H * n.T * n.S; ++at) {
    if (!call.visible[at]) continue;
    const int64_t row = at / n.S, b = row / (n.H * n.T), g = row / n.T % n.H * n.G / n.H;
    double squares = 0;
    for (int64_t d = 0; d < n.D; ++d) {
      const double difference = static_cast<double>(q[row * n.D + d]) -
                                static_cast<double>(k[((b * n.G + g) * n.S + at % n.S) * n.D + d]);
      squares += difference * difference;
    }
    distances.push_back(std::sqrt(squares));
  }
  std::sort(distances.begin(), distances.end());
  return distances;
}

// How wide a kernel is: some share of the pairs lies inside, and none so near its edge that rounding could move it
// to the other side. (The edge stands in the middle of the widest gap around.)
float draw_width(Dice& dice, const Drawn& call) {
  const std::vector<double> distances = distances_of(call);
  if (distances.size() < 2) return 1.0f;
  const auto last = static_cast<int64_t>(distances.size()) - 2, from = dice.between(0, last);
  int64_t widest = from;
  const auto gap = [&](int64_t i) { return distances[i + 1] - distances[i]; };
  for (int64_t i = from; i <= std::min(last, from + 500); ++i)
    if (gap(i) > gap(widest)) widest = i;
  return static_cast<float>((distances[widest] + distances[widest + 1]) / 2);
}

void draw_score(Dice& dice, Drawn& call) {
  const auto D = static_cast<double>(call.n.D);
  call.score = static_cast<DrawnScore>(std::max<int64_t>(0, dice.between(-3, 3)));
  switch (call.score) {
    case DrawnScore::scaled_dot: call.scale = 1.0f / std::sqrt(static_cast<float>(call.n.D)); break;
    case DrawnScore::dot: call.scale = static_cast<float>(dice.between(1, 8)) / 16.0f; break;
    case DrawnScore::cosine: call.scale = static_cast<float>(dice.between(1, 20)); break;
    case DrawnScore::gaussian:
      call.sigma = static_cast<float>(std::sqrt(D) * static_cast<double>(dice.between(2, 8)) / 4);
  }
}

// Kernel weights stand for themselves: what comes between would move pairs across the edge of a kernel.
void draw_kernel(Dice& dice, Drawn& call) {
  if (call.score != DrawnScore::gaussian || dice.one_in(3)) return;
  call.kernel = static_cast<DrawnKernel>(dice.between(1, 3));
  call.modifiers.clear();
  call.sink = Variable();
  call.sigma = draw_width(dice, call);
}

ScorePtr score_of(const Drawn& call) {
  switch (call.score) {
    case DrawnScore::scaled_dot: return nullptr;
    case DrawnScore::dot: return dot(call.scale);
    case DrawnScore::cosine: return cosine(call.scale);
    case DrawnScore::gaussian: break;
  }
  return gaussian(call.sigma);
}

NormalizerPtr normalizer_of(const Drawn& call) {
  switch (call.kernel) {
    case DrawnKernel::none: return call.sink.defined() ? softmax_with_sink(call.sink) : nullptr;
    case DrawnKernel::constant: return constant();
    case DrawnKernel::epanechnikov: return epanechnikov();
    case DrawnKernel::triangular: break;
  }
  return triangular();
}

}  // namespace

Drawn draw(uint64_t number, DType dtype, const DrawOptions& options) {
  Dice dice(number, options.choices);
  Drawn call;
  AttentionShape& n = call.n = draw_shape(dice, options.most_work);
  const double spread = dice.one_in(6) ? 4.0 : 1.0;  // now and then scores in the tens and hundreds
  call.q = laid_out(dice, {n.B, n.H, n.T, n.D}, spread, dtype);
  call.k = laid_out(dice, {n.B, n.G, n.S, n.D}, 1, dtype);
  call.v = laid_out(dice, {n.B, n.G, n.S, n.E}, 1, dtype);
  call.dout = laid_out(dice, {n.B, n.H, n.T, n.E}, 1, dtype);
  draw_score(dice, call);
  if (!dice.one_in(4)) call.masks.push_back(draw_mask(dice, n, 2));
  for (int64_t count = std::max<int64_t>(0, dice.between(-2, 3)); count > 0; --count)
    call.modifiers.push_back(draw_modifier(dice, n));
  if (dice.one_in(4)) call.sink = Variable(numbers(dice, {n.H}, 2), {.requires_grad = true});
  call.single_queries = n.T <= 4 && dice.one_in(2);
  if (dice.one_in(4)) call.dropout = weight_dropout({.rate = 0.3, .seed = number, .stream = 1});
  call.factors = factors_of(call.dropout, n);
  call.visible.assign(call.factors.size(), 1);
  for (const DrawnMask& mask : call.masks)
    for (int64_t at = 0; at < n.B * n.H * n.T * n.S; ++at)
      call.visible[at] = mask.sees(at / (n.S * n.T * n.H), at / (n.S * n.T) % n.H, at / n.S % n.T, at % n.S);
  draw_kernel(dice, call);
  return call;
}

AttentionOptions Drawn::options_of_rows(int64_t first, int64_t rows) const {
  AttentionOptions options;
  options.score = score_of(*this);
  for (const DrawnModifier& m : modifiers) options.modify.push_back(part_of(m, first, rows, n.B));
  for (const DrawnMask& mask : masks) options.mask = mask.of_rows(first, rows);
  options.normalize = normalizer_of(*this);
  if (dropout) options.reweigh.push_back(dropout);
  options.single_queries = single_queries;
  return options;
}

std::vector<Variable> Drawn::learnt_parameters() const {
  std::vector<Variable> learnt;
  for (const DrawnModifier& m : modifiers)
    if (m.parameter.defined() && m.parameter.requires_grad()) learnt.push_back(m.parameter);
  if (sink.defined()) learnt.push_back(sink);
  return learnt;
}

std::string Drawn::name() const {
  const AttentionOptions o = options();
  std::string text =
      fmt::format("{} B {} H {} G {} T {} S {} D {} E {}", name_of(q.dtype()), n.B, n.H, n.G, n.T, n.S, n.D, n.E);
  if (o.score) text += ", " + o.score->name();
  for (const ModifierPtr& m : o.modify) text += ", " + m->name();
  if (o.mask) text += ", " + o.mask->name();
  if (o.normalize) text += ", " + o.normalize->name();
  if (dropout) text += ", " + dropout->name();
  if (single_queries) text += ", single queries";
  return text;
}

}  // namespace qkv::test
