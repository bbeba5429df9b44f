// MPNet (Song et al., 2020), the encoder of all-mpnet-base-v2: BERT with learned positions that begin after the padding
// row, and a bias by distance, whose table all layers share.
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig mpnet_config(const HfConfig& hf) {
  TransformerConfig c = family::roberta.config(hf);
  c.token_types = 0;
  c.max_positions += c.position_offset - 2;
  c.position_offset = 2;           // whatever `pad_token_id` is
  constexpr int64_t buckets = 32;  // transformers fixes the number, whatever the size of the table
  if (hf.count("relative_attention_num_buckets", buckets) != buckets)
    hf.refuse("relative_attention_num_buckets", "only 32 are supported");
  c.self_attention.encoder = RelativeBias{.buckets = buckets, .max_distance = 128, .shared = true};
  return c;
}

TensorNames mpnet_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names = roberta_names("mpnet.", ours);
  for_each_layer(ours.encoder_layers, "mpnet.encoder.layer.", [&](const std::string& to, const std::string& from) {
    for (const auto& [part, name] :
         {std::pair("query", "q"), std::pair("key", "k"), std::pair("value", "v"), std::pair("out", "o")})
      names.linear(to + "self_attention." + part, from + "attention.attn." + name);
    names.norm(to + "norm1", from + "attention.LayerNorm");
    names.tensor(to + "self_attention.relative-bias.table", "mpnet.encoder.relative_attention_bias.weight");
  });
  return names;
}

}  // namespace

const Family family::mpnet = {"mpnet", mpnet_config, mpnet_tensors};

}  // namespace qkv
