#include "test/attention_random_test/draw.h"

#include <algorithm>

#include <fmt/format.h>

namespace qkv::test {
namespace {

// (B,H,T,D) in memory as it is, as (B,T,H,D), or with gaps between the rows.
Tensor draw_input(Dice& dice, const Shape& shape, double spread, DType dtype) {
  const Tensor x = dice.normals(shape, spread).to(dtype);
  switch (dice.between(0, 2)) {
    case 0: return with_transposed_memory(x, 1, 2);
    case 1: return with_gaps_between_rows(x);
    default: return x;
  }
}

AttentionShape draw_shape(Dice& dice, int64_t max_work) {
  AttentionShape n;
  n.B = dice.between(1, 3);
  n.G = dice.between(1, 3);
  n.H = n.G * dice.between(1, 3);
  const bool decoding = dice.one_in(5);  // few queries over many keys have a pass of their own
  n.T = decoding ? dice.between(1, 4) : dice.length();
  n.S = decoding ? dice.between(1, 1400) : dice.length();
  n.D = dice.width();
  n.E = dice.one_in(2) ? n.D : dice.width();
  const auto work = [&] { return n.B * n.H * n.T * n.S * (n.D + n.E); };
  while (work() > max_work && n.B > 1) --n.B;
  if (work() > max_work) n.H = n.G;
  if (work() > max_work) n.H = n.G = 1;
  while (16 * n.T * n.S > max_work) (n.T > n.S ? n.T : n.S) /= 2;  // there is a width that fits
  while (work() > max_work) (dice.one_in(2) ? n.D : n.E) = dice.between(1, 64);
  return n;
}

void draw_mechanisms(Dice& dice, uint64_t number, Drawn& call) {
  const AttentionShape& n = call.n;
  if (!dice.one_in(4)) call.mask = draw_mask(dice, n, 2);
  // Nothing comes between the score and its kernel: it would move pairs across the edge.
  if (call.score.mechanism == "gaussian" && !dice.one_in(3)) {
    call.normalizer = draw_kernel(dice);
    call.score = draw_gaussian_for_kernel(dice, call.q, call.k, call.mask.visible);
  } else {
    call.normalizer = dice.one_in(12) ? draw_constant() : draw_softmax(dice, n);
    for (int64_t count = std::max<int64_t>(0, dice.between(-2, 3)); count > 0; --count)
      call.modifiers.push_back(draw_modifier(dice, n));
  }
  if (dice.one_in(5)) call.reweighers.push_back(draw_dropout(n, number));
  if (dice.one_in(5)) call.reweighers.push_back(draw_gaussian_window(dice, n));
  if (dice.one_in(8)) call.reweighers.push_back(draw_local_p(dice, call.q, n.S));
}

}  // namespace

Drawn draw(uint64_t number, DType dtype, const DrawOptions& options) {
  Dice dice(number, options.choices);
  Drawn call;
  const AttentionShape& n = call.n = draw_shape(dice, options.max_work);
  const double spread = dice.one_in(6) ? 4.0 : 1.0;  // some calls have scores in the tens and hundreds
  const std::string score = draw_score_mechanism(dice);
  const int64_t key_width = takes_other_key_width(score) && dice.one_in(2) ? dice.between(1, 40) : n.D;
  call.q = draw_input(dice, {n.B, n.H, n.T, n.D}, spread, dtype);
  call.k = draw_input(dice, {n.B, n.G, n.S, key_width}, 1, dtype);
  call.v = draw_input(dice, {n.B, n.G, n.S, n.E}, 1, dtype);
  call.dout = draw_input(dice, {n.B, n.H, n.T, n.E}, 1, dtype);
  call.score = draw_score(dice, score, n.D, key_width);
  draw_mechanisms(dice, number, call);
  call.single_queries = n.T <= 4 && dice.one_in(2);
  return call;
}

AttentionOptions Drawn::options(const Variable& queries, const BatchRows& rows) const {
  AttentionOptions options = {.score = score.score, .normalize = normalizer.normalizer};
  for (const DrawnModifier& modifier : modifiers) options.modify.push_back(modifier.part(rows));
  if (mask.part) options.mask = mask.part(rows);
  for (const DrawnReweigher& reweigher : reweighers) {
    const DrawnReweigher::Part part = reweigher.part(queries, rows);
    options.reweigh.push_back(part.reweigher);
    options.mask = options.mask & part.mask;
  }
  options.single_queries = single_queries;
  return options;
}

ReferenceCall Drawn::reference() const {
  ReferenceCall call = {.q = q, .k = k, .v = v, .dout = dout, .score = score.reference};
  for (const DrawnModifier& modifier : modifiers) call.modify.push_back(modifier.reference);
  call.visible = mask.visible;
  call.normalize = normalizer.reference;
  for (const DrawnReweigher& reweigher : reweighers) {
    call.reweigh.push_back(reweigher.reference);
    if (reweigher.visible)
      call.visible = [a = call.visible, b = reweigher.visible](auto... at) { return (!a || a(at...)) && b(at...); };
  }
  return call;
}

std::vector<Variable> Drawn::parameters() const {
  std::vector<Variable> all = score.parameters;
  const auto append = [&](const std::vector<Variable>& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const DrawnModifier& modifier : modifiers) append(modifier.parameters);
  append(normalizer.parameters);
  for (const DrawnReweigher& reweigher : reweighers) append(reweigher.parameters);
  return all;
}

std::vector<std::string> Drawn::mechanisms() const {
  std::vector<std::string> all = mask.mechanisms;
  all.push_back(score.mechanism);
  for (const DrawnModifier& modifier : modifiers) all.push_back(modifier.mechanism);
  all.push_back(normalizer.mechanism);
  for (const DrawnReweigher& reweigher : reweighers) all.push_back(reweigher.mechanism);
  return all;
}

bool Drawn::has(const std::string& mechanism) const {
  const std::vector<std::string> all = mechanisms();
  return std::find(all.begin(), all.end(), mechanism) != all.end();
}

std::string Drawn::name() const {
  const AttentionOptions o = options();
  std::string text =
      fmt::format("{} B {} H {} G {} T {} S {} D {} E {}", name_of(q.dtype()), n.B, n.H, n.G, n.T, n.S, n.D, n.E);
  if (k.dim(3) != n.D) text += fmt::format(" Dk {}", k.dim(3));
  if (o.score) text += ", " + o.score->name();
  for (const ModifierPtr& modifier : o.modify) text += ", " + modifier->name();
  if (o.mask) text += ", " + o.mask->name();
  if (o.normalize) text += ", " + o.normalize->name();
  for (const ReweigherPtr& reweigher : o.reweigh) text += ", " + reweigher->name();
  if (single_queries) text += ", single queries";
  return text;
}

}  // namespace qkv::test
