// BigBird (Zaheer et al., 2020), the encoder, as transformers evaluates it: BERT with block-sparse attention.
#include "qkv/layer/mechanism/bigbird_evaluation.h"
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig big_bird_config(const HfConfig& hf) {
  TransformerConfig c = family::bert.config(hf);
  c.activation = hf.activation("hidden_act", Activation::gelu_tanh);
  const std::string type = hf.text("attention_type", "block_sparse");
  if (type == "block_sparse")
    c.self_attention.encoder =
        BigBirdEvaluation{.block = hf.count("block_size", 64), .random = hf.index("num_random_blocks", 3)};
  else if (type != "original_full")
    hf.refuse("attention_type", "expected block_sparse or original_full");
  if (!hf.flag("use_bias", true)) {
    c.attention_bias = false;
    c.attention_output_bias = true;
  }
  if (hf.flag("rescale_embeddings", false)) c.embedding_scale = 0;  // sqrt(C)
  return c;
}

TensorNames big_bird_tensors(const HfConfig& hf, const TransformerConfig& ours) {
  TensorNames names = family::bert.tensors(hf, ours);
  for (const char* unread : {"pooler.weight", "pooler.bias"}) names.ignore(unread);
  return names;
}

}  // namespace

const Family family::big_bird = {"big_bird", big_bird_config, big_bird_tensors};

}  // namespace qkv
