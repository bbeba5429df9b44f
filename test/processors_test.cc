// The same bits on every processor: in f32 a model has the same loss, the same gradients and the same translations on
// every instruction set with fused multiply-adds, whatever it attends by. (generic rounds each product on x86-64, and
// is left out.)
#include <bit>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/distance.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/search.h"
#include "qkv/kernel/kernels.h"
#include "qkv/layer/attention_mechanisms_test.h"
#include "qkv/model/transformer.h"
#include "qkv/test_support/tensors.h"

namespace qkv::processors_test {

using namespace test;

using Bits = std::vector<uint64_t>;

void append(Bits& bits, const Tensor& x) {
  const Tensor packed = x.contiguous_copy();
  for (const float v : packed.span<float>()) bits.push_back(std::bit_cast<uint32_t>(v));
}

template <class Compute>
void expect_same_on_every_set(Compute compute) {
  Bits first;
  std::string_view first_isa;
  for (const kernel::Kernels* kernels : kernel::all_kernels()) {
    if (kernels->isa == "generic") continue;
    const kernel::UseKernels use(*kernels);
    const Bits now = compute();
    ASSERT_FALSE(now.empty());
    if (first.empty()) first = now, first_isa = kernels->isa;
    EXPECT_TRUE(QKV_SANITIZED || now == first) << kernels->isa << " differs from " << first_isa;
  }
}

// Loss, gradients and translations. Heads of 24 columns: one and a half vectors of AVX-512, three of AVX2.
Bits results_of_model(const TransformerConfig& config) {
  Bits bits;
  Transformer model(config, 7);
  Pass pass = {.training = true, .seed = 5};  // with dropout
  const Tensor source = random_ids({3, 21}, 37, 1), target_in = random_ids({3, 19}, 37, 2),
               target_out = random_ids({3, 19}, 37, 3);
  const std::vector<int32_t> lengths = {21, 9, 14};
  const Variable loss = model.loss(source, lengths, target_in, target_out, {.label_smoothing = 0.1f}, pass).loss;
  append(bits, loss.value());
  loss.backward();
  model.visit([&](const std::string&, Variable& parameter) {
    if (parameter.grad().defined()) append(bits, parameter.grad());
  });
  for (const auto& answers : search(model, source, lengths, {.beam = 3, .n_best = 2, .max_length = 12}))
    for (const Hypothesis& answer : answers) {
      bits.insert(bits.end(), answer.ids.begin(), answer.ids.end());
      bits.push_back(std::bit_cast<uint64_t>(answer.log_probability));
    }
  return bits;
}

TransformerConfig small() {
  TransformerConfig config;
  config.source_vocabulary = config.target_vocabulary = 37;
  config.d_model = 48, config.heads = 2, config.ffn = 72;
  config.encoder_layers = config.decoder_layers = 1;
  config.max_positions = 40;
  return config;
}

class ProcessorsSelf : public testing::TestWithParam<std::string> {};
class ProcessorsCross : public testing::TestWithParam<std::string> {};

TEST_P(ProcessorsSelf, ModelHasTheSameBits) {
  TransformerConfig config = small();
  config.self_attention = attention_variant(GetParam());
  expect_same_on_every_set([&] { return results_of_model(config); });
}
TEST_P(ProcessorsCross, ModelHasTheSameBits) {
  TransformerConfig config = small();
  config.cross_attention = attention_variant(GetParam());
  config.norm_order = NormOrder::pre;
  expect_same_on_every_set([&] { return results_of_model(config); });
}
INSTANTIATE_TEST_SUITE_P(Variants, ProcessorsSelf, testing::ValuesIn(sample_variants(AttentionUse::encoder)));
INSTANTIATE_TEST_SUITE_P(Variants, ProcessorsCross, testing::ValuesIn(sample_variants(AttentionUse::cross)));

TEST(Processors, AnswersOfCandidatesHaveTheSameBits) {
  const Tensor source = random_ids({3, 21}, 37, 1);
  const std::vector<int32_t> lengths = {21, 9, 14};
  const std::vector<std::vector<int32_t>> candidates = {{4, 9, 30, 36}, {5, 6, 7, 8, 9, 10, 11}, {20, 3}};
  const auto answer_bits = [&] {
    const Transformer model(small(), 7);  // packs its weights for this set
    Bits bits;
    for (const auto& answers :
         search(model, source, lengths, {.beam = 3, .max_length = 12}, {.candidates = candidates})) {
      bits.insert(bits.end(), answers[0].ids.begin(), answers[0].ids.end());
      bits.push_back(std::bit_cast<uint64_t>(answers[0].log_probability));
    }
    return bits;
  };
  expect_same_on_every_set(answer_bits);
}

// Attention alone, with the scores that sum across lanes, at lengths around the widths of tiles and vectors.
TEST(Processors, AttentionHasTheSameBits) {
  struct Lengths {
    int64_t T, S, D;
  };
  for (const auto& [T, S, D] : std::vector<Lengths>{{1, 700, 24}, {7, 33, 8}, {40, 150, 40}, {90, 90, 17}})
    for (const int kind : {0, 1, 2}) {
      SCOPED_TRACE(testing::Message() << "T " << T << ", S " << S << ", D " << D << ", score " << kind);
      expect_same_on_every_set([&] {
        const auto leaf = [&](const Shape& shape, uint64_t stream) {
          return Variable(random_tensor(shape, stream), {.requires_grad = true});
        };
        const int64_t H = 4, G = 2;
        std::vector<Variable> inputs = {leaf({2, H, T, D}, 1), leaf({2, G, S, D}, 2), leaf({2, G, S, D}, 3)};
        AttentionOptions options;
        if (kind == 1) {
          for (uint64_t i = 0; i < 3; ++i) inputs.push_back(leaf(i < 2 ? Shape{20, D} : Shape{20}, 4 + i));
          options.score = additive(inputs[3], inputs[4], inputs[5]);
        }
        if (kind == 2) options.score = gaussian(1.5f);
        if (T == S) options.mask = causal();
        Bits bits;
        append(bits, attention(inputs[0].value(), inputs[1].value(), inputs[2].value(), options));
        const Variable out = attention(inputs[0], inputs[1], inputs[2], options);
        append(bits, out.value());
        out.backward(random_tensor(out.shape(), 9));
        for (const Variable& input : inputs) append(bits, input.grad());
        return bits;
      });
    }
}

}  // namespace qkv::processors_test
