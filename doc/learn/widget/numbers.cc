// What the library computes for the cases of check.js, as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doc/learn/show.h"
#include "qkv/attention.h"

using namespace qkv;

namespace {

std::string rows(const Tensor& x) {
  std::vector<std::vector<float>> numbers(static_cast<size_t>(x.dim(2)));
  for (int64_t i = 0; i < x.dim(2); ++i)
    for (int64_t j = 0; j < x.dim(3); ++j) numbers[static_cast<size_t>(i)].push_back(x.at<float>({0, 0, i, j}));
  return fmt::format("{}", numbers);
}

}  // namespace

int main() {
  const std::vector<std::pair<std::string, ScorePtr>> scores = {
      {R"("score": "scaled dot")", scaled_dot()},
      {R"("score": "scaled dot", "temperature": 0.5)", dot(2 / std::sqrt(3.0f))},
      {R"("score": "dot")", dot()},
      {R"("score": "cosine")", cosine(1)},
      {R"("score": "Gaussian", "width": 0.7)", gaussian(0.7f)}};
  const std::vector<std::pair<std::string, MaskPtr>> masks = {
      {"full", {}}, {"causal", causal()}, {"window of 2", window(1, 0)}, {"first 2 keys", first_keys(2)}};
  const Tensor q = learn::normal({1, 1, 4, 3}, 1), k = learn::normal({1, 1, 5, 3}, 2),
               v = learn::normal({1, 1, 5, 2}, 3);
  std::vector<std::string> cases;
  for (const auto& [score_name, score] : scores)
    for (const auto& [mask_name, mask] : masks) {
      const auto [out, weights, lse] = attention_with_weights(q, k, v, {.score = score, .mask = mask});
      cases.push_back(
          fmt::format(R"({{"q": {}, "k": {}, "v": {}, "options": {{{}, "mask": "{}"}}, "weights": {}, "out": {}}})",
                      rows(q), rows(k), rows(v), score_name, mask_name, rows(weights), rows(out)));
    }
  fmt::print("[{}]\n", fmt::join(cases, ",\n"));
}
