// A text of the attention variants of layers, behind two bytes for the use and the length: what is taken is the same
// after the way through text, and where it fits a small layer it runs there, forward and backward.
#include "fuzz/input.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/layer/attention_pattern.h"
#include "qkv/layer/multi_head_attention.h"

namespace {

using namespace qkv;

void run_layer(const AttentionVariant& variant, AttentionUse use, int64_t length) {
  const MultiHeadAttentionOptions options{.d_model = 8, .heads = 4, .kv_heads = 2, .variant = variant, .use = use};
  check_variant(variant, options.size(), "layer");
  MultiHeadAttention layer(options);
  layer.initialise("layer", 1);
  Tensor x = Tensor::empty({2, length, 8});
  float value = -1;
  for (float& number : x.span<float>()) number = value = value > 1 ? value - 2 : value + 0.37f;
  const Variable source(x, {.requires_grad = true});
  Pass pass{.training = true};
  const MaskPtr mask = use == AttentionUse::decoder ? causal() : nullptr;
  const Variable y = use == AttentionUse::cross ? layer.attend(source, layer.project(source, source), nullptr, pass)
                                                : layer.forward(source, mask, pass);
  fuzz::expect(y.shape() == x.shape(), "another shape");
  y.backward(y.value());
  for (const float number : y.value().contiguous_copy().span<float>())
    fuzz::expect(number - number == 0, "a result is not finite");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Reader input(data, size);
  const auto use = static_cast<AttentionUse>(input.between(0, 2));
  const int64_t length = input.between(1, 9);
  fuzz::accepted([&] {
    const AttentionPattern pattern = attention_pattern(input.rest());
    const std::string text = to_string(pattern);
    fuzz::expect(attention_pattern(text) == pattern, "another pattern after text");
    fuzz::expect(to_string(attention_pattern(text)) == text, "another text after text");
    const size_t run = std::min<size_t>(pattern.groups().size(), 2);
    for (const auto& [variant, layers] : std::span(pattern.groups()).first(run)) run_layer(variant, use, length);
  });
  return 0;
}
