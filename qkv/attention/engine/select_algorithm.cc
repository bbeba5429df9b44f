#include "qkv/attention/engine/select_algorithm.h"

#include <fmt/format.h>

#include "qkv/attention/engine/tiles.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {
namespace {

const Score& score_of(const AlgorithmRequest& r) {
  static const ScorePtr by_default = scaled_dot();
  return r.options.score ? *r.options.score : *by_default;
}

bool is_dot_product(const AlgorithmRequest& r) { return score_of(r).dot_scale(r.shape.D).has_value(); }
std::string not_a_dot_product(const AlgorithmRequest& r) { return score_of(r).name() + " is not a dot product"; }

std::string why_not_single_query(const AlgorithmRequest& r) {
  if (r.with_backward) return "it has no backward";
  if (r.shape.T != 1 && !r.options.single_queries) return fmt::format("T is {}, not 1", r.shape.T);
  return is_dot_product(r) ? "" : not_a_dot_product(r);
}

std::string why_not_bf16_tiles(const AlgorithmRequest& r) {
  constexpr int64_t max_width = 512;  // that the bf16 products are made for
  const auto fits = [](int64_t width) { return width % 2 == 0 && width <= max_width; };
  if (r.dtype != DType::bf16) return "inputs are f32";
  if (!is_dot_product(r)) return not_a_dot_product(r);
  if (!kernel::kernels().attention.bf16) return fmt::format("{} has no bf16 products", kernel::kernels().isa);
  if (fits(r.shape.D) && fits(r.shape.E)) return "";
  return fmt::format("D and E must be even and at most {}; D is {}, E is {}", max_width, r.shape.D, r.shape.E);
}

std::string why_not_one_f32_tile(const AlgorithmRequest& r) {
  if (r.shape.S > max_block_keys) return fmt::format("S is {}, a tile has {} keys", r.shape.S, max_block_keys);
  if (r.shape.E == round_to_lanes(r.shape.E)) return "";
  return fmt::format("E {} is not a multiple of {} SIMD lanes", r.shape.E, lanes());
}

std::string never(const AlgorithmRequest&) { return ""; }

constexpr AlgorithmCandidate candidates[] = {
    {Algorithm::single_query, "single query", "SIMD lanes along the width, keys in parallel spans",
     why_not_single_query},
    {Algorithm::bf16_tiles, "bf16 tiles", "bf16 products, two at a time", why_not_bf16_tiles},
    {Algorithm::one_f32_tile, "one f32 tile", "all keys in one tile, so nothing is rescaled", why_not_one_f32_tile},
    {Algorithm::f32_tiles, "f32 tiles", "online softmax over tiles of keys, SIMD lanes are queries", never},
};

}  // namespace

std::span<const AlgorithmCandidate> algorithm_candidates() { return candidates; }

Algorithm select_algorithm(const AlgorithmRequest& request) {
  for (const AlgorithmCandidate& candidate : candidates)
    if (candidate.why_not(request).empty()) return candidate.algorithm;
  fail("attention", "no algorithm takes the call");
}

bool reads_bf16(Algorithm algorithm) {
  return algorithm == Algorithm::single_query || algorithm == Algorithm::bf16_tiles;
}

}  // namespace qkv::internal
