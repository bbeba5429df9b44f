#include "qkv/attention/explain.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "qkv/attention/engine/call.h"
#include "qkv/attention/engine/engine.h"
#include "qkv/attention/engine/pair_counts.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/names.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

using namespace internal;
using Choice = AttentionPlan::Choice;

// The candidates of select_algorithm() up to the one that takes the call.
std::vector<Choice> algorithms(const AlgorithmRequest& request) {
  std::vector<Choice> out;
  for (const AlgorithmCandidate& candidate : algorithm_candidates()) {
    const std::string why_not = candidate.why_not(request);
    const bool chosen = why_not.empty();
    out.push_back({candidate.name, chosen, chosen ? candidate.description : why_not});
    if (!chosen) continue;
    if (request.dtype == DType::bf16 && !reads_bf16(candidate.algorithm))
      out.back().reason += "; inputs converted to f32";
    break;
  }
  return out;
}

// The instruction sets, best first.
std::vector<Choice> instruction_sets() {
  const std::string_view chosen = kernel::kernels().isa;
  const char* pinned = std::getenv("QKV_ISA");
  std::vector<std::string_view> names, usable;
  for (const kernel::Kernels* k : kernel::all_kernels()) usable.insert(usable.begin(), k->isa);
  const auto is_usable = [&](std::string_view name) {
    return std::find(usable.begin(), usable.end(), name) != usable.end();
  };
  names = usable;
  for (const std::string_view known : kernel::instruction_set_names)
    if (!is_usable(known)) names.insert(names.begin(), known);
  std::vector<Choice> out;
  for (const std::string_view name : names) {
    // avx512_vnni is compiled wherever avx512_bf16 is, and left out on a CPU that has both: see kernels.h.
    const bool runs = is_usable(name) || (name == "avx512_vnni" && is_usable("avx512_bf16"));
    std::string reason = fmt::format("{} is faster", chosen);
    if (name == chosen) {
      reason = pinned && *pinned ? "QKV_ISA pins it" : "the fastest in this build that this CPU supports";
    } else if (!runs) {
      reason = kernel::cpu_has(name) ? "not in this build" : "not supported by this CPU";
    } else if (pinned && *pinned) {
      reason = fmt::format("QKV_ISA pins {}", pinned);
    }
    out.push_back({std::string(name), name == chosen, reason});
  }
  return out;
}

template <class Mechanisms>
std::string names_of(const Mechanisms& mechanisms) {
  std::vector<std::string> names;
  names.reserve(mechanisms.size());
  for (const auto& mechanism : mechanisms) names.push_back(mechanism->name());
  return fmt::format("{{{}}}", name_list(names));
}

std::string call_text(const AttentionOptions& options) {
  std::vector<std::string> fields;
  if (options.score) fields.push_back(".score = " + options.score->name());
  if (!options.modify.empty()) fields.push_back(".modify = " + names_of(options.modify));
  if (options.mask) fields.push_back(".mask = " + options.mask->name());
  if (options.normalize) fields.push_back(".normalize = " + options.normalize->name());
  if (!options.reweigh.empty()) fields.push_back(".reweigh = " + names_of(options.reweigh));
  return fields.empty() ? "attention(q, k, v)" : fmt::format("attention(q, k, v, {{{}}})", name_list(fields));
}

AttentionShape checked_shape(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const bool ranks = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  const bool fits = ranks && q.dim(0) == k.dim(0) && k.dim(0) == v.dim(0) && k.dim(1) == v.dim(1) && k.dim(1) > 0 &&
                    q.dim(1) % k.dim(1) == 0 && k.dim(2) == v.dim(2);
  require(fits, "explain", "expected q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), G a divisor of H; got {}, {}, {}",
          q.shape(), k.shape(), v.shape());
  const AttentionShape shape = shape_of(q, k, v, options);
  if (options.mask) options.mask->check(shape);
  for (const ModifierPtr& modifier : options.modify) modifier->check(shape);
  if (options.normalize) options.normalize->check(shape);
  for (const ReweigherPtr& reweigher : options.reweigh) reweigher->check(shape);
  return shape;
}

// 12345678 as "12,345,678".
std::string grouped(int64_t n) {
  std::string text = fmt::format("{}", n);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}

// 12345678 as "12.3 M".
std::string scaled(double x) {
  std::string_view prefix = " ";
  for (const std::string_view next : {" k", " M", " G", " T", " P"}) {
    if (x < 999.5) break;
    x /= 1000;
    prefix = next;
  }
  return fmt::format("{:.3g}{}", x, prefix);
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

AttentionPlan attention_plan(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  AttentionPlan plan;
  plan.call = call_text(options);
  plan.shape = checked_shape(q, k, v, options);
  plan.q = q.shape();
  plan.k = k.shape();
  plan.dtype = q.dtype();
  plan.algorithms = algorithms({plan.shape, plan.dtype, options});
  plan.instruction_sets = instruction_sets();
  const AttentionShape& s = plan.shape;
  const ScorePtr score = options.score ? options.score : scaled_dot();
  AttentionCall call;
  call.shape = s;
  call.part = whole(s);
  call.mask = options.mask & score->mask(s);
  const PairCounts n = count_pairs(call);
  plan.pairs = s.B * s.H * s.T * s.S;
  plan.visible_pairs = n.visible;
  plan.fully_masked_queries = n.fully_masked;
  plan.tiles = s.B * s.H * count_query_blocks(call) * ceil_div(s.S, max_block_keys);
  plan.visited_tiles = n.visited;
  plan.partial_tiles = n.partial;
  const double pair = score->pair_flops(s.D) + 2.0 * static_cast<double>(s.E);
  plan.flops = pair * static_cast<double>(n.visible);
  plan.tile_flops = pair * static_cast<double>(n.computed);
  plan.bytes = (q.numel() + k.numel() + v.numel() + s.B * s.H * s.T * s.E) * size_of(plan.dtype);
  return plan;
}

std::string AttentionPlan::text() const {
  const AttentionShape& s = shape;
  std::string out = call + "\n";
  const auto line = [&](std::string_view label, std::string_view rest) {
    out += fmt::format("  {:11}{}\n", label, rest);
  };
  line("q", fmt::format("{} {}", describe("BHTD", q), name_of(dtype)));
  line("k, v", fmt::format("{}, {}", describe("BGSD", k), describe("BGSE", {s.B, s.G, s.S, s.E})));
  line("out", to_string(describe("BHTE", {s.B, s.H, s.T, s.E})));
  const auto lines = [&](std::string_view label, const std::vector<Choice>& choices) {
    for (const Choice& c : choices)
      line(&c == &choices.front() ? label : "", fmt::format("{}{}: {}", c.chosen ? "" : "not ", c.name, c.reason));
  };
  lines("algorithm", algorithms);
  lines("kernels", instruction_sets);
  line("pairs", fmt::format("{} of {} visible ({:.3g}%)", grouped(visible_pairs), grouped(pairs),
                            percent(static_cast<double>(visible_pairs), static_cast<double>(pairs))));
  if (fully_masked_queries > 0)
    line("", fmt::format("{} of {} queries have no visible key: their output is zero",
                         grouped(fully_masked_queries), grouped(s.B * s.H * s.T)));
  line("tiles", fmt::format("{} of {} visited, {} of them partially masked", grouped(visited_tiles), grouped(tiles),
                            grouped(partial_tiles)));
  line("forward", fmt::format("{}FLOP, {:.3g}% of the {}FLOP that the tiles compute", scaled(flops),
                              percent(flops, tile_flops), scaled(tile_flops)));
  line("memory", fmt::format("{}B of q, k, v and out, {:.3g} FLOP per byte", scaled(static_cast<double>(bytes)),
                             intensity()));
  return out;
}

std::string explain(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  return attention_plan(q, k, v, options).text();
}

}  // namespace qkv
