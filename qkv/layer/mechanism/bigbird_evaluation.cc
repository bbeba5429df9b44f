#include "qkv/layer/mechanism/bigbird_evaluation.h"

#include <algorithm>
#include <cmath>

#include "qkv/attention/mask/bigbird.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

// ln(1 + random) at the keys of block 0, for the queries between the first and the last block.
class FirstBlockBias final : public Modifier {
 public:
  FirstBlockBias(int64_t block, int64_t random)
      : block_(block), random_(random), bias_(std::log1p(static_cast<float>(random))) {}

  void forward(const Tile& tile, float* s) const override {
    const int64_t keys = std::min(tile.keys, block_ - tile.key);
    const int64_t last = (tile.shape->T - 1) / block_ * block_;  // the first position of the last block
    const int64_t begin = std::max<int64_t>(block_ - tile.query, 0),
                  end = std::min(last - tile.query, tile.queries);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t i = begin; i < end; ++i) s[j * tile.width + i] += bias_;
  }
  void backward(const Tile&, const float*, float*, float*) const override {}
  std::string name() const override { return fmt::format("first_block_bias({}, {})", block_, random_); }

 private:
  int64_t block_, random_;
  float bias_;
};

class BigBirdEvaluationMechanism final : public MechanismOf<BigBirdEvaluation> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {
        .name = "bigbird-evaluation",
        .help =
            "BigBird as Hugging Face transformers evaluates it: block 0 in place of each of RANDOM random blocks",
        .role = Role::mask,
        .excludes = {Role::multi_token},
        .in_cross = false};
  }
  Fields fields() const override {
    return {{"block", &BigBirdEvaluation::block, 1, max_distance}, {"random", &BigBirdEvaluation::random, 0, 1024}};
  }
  std::string error(const AttentionSize& size) const override {
    return size.use == AttentionUse::decoder ? "it is for encoders: its last block sees all keys" : "";
  }
  bool depends_on_length() const override { return true; }
  void add_to_call(AttentionOptions& options, const AttentionPart&,
                   const AttentionCallContext& context) const override {
    if (context.q.dim(2) <= (5 + 2 * value.random) * value.block) return;
    options.mask = options.mask & bigbird({.block = value.block, .global_blocks = {0, -1}, .random_blocks = 0});
    if (value.random > 0) options.modify.push_back(std::make_shared<FirstBlockBias>(value.block, value.random));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const BigBirdEvaluation& x) {
  return std::make_shared<BigBirdEvaluationMechanism>(x);
}

}  // namespace qkv
