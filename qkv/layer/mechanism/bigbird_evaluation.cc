#include "qkv/layer/mechanism/bigbird_evaluation.h"

#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/modify/first_block_bias.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

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
    if (value.random > 0) options.modify.push_back(first_block_bias(value.block, value.random));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const BigBirdEvaluation& x) {
  return std::make_shared<BigBirdEvaluationMechanism>(x);
}

}  // namespace qkv
