// M2M100 (Fan et al., 2021), and NLLB (NLLB Team, 2022) in the same format: a pre-LN Transformer with the names of
// BART.
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

// Position 0 is row 2 of the sinusoids; rows 0 and 1 are for padding.
TransformerConfig m2m_100_config(const HfConfig& hf) {
  TransformerConfig c = encoder_decoder_config(hf);
  c.activation = hf.activation("activation_function", Activation::relu);
  c.embedding_scale = hf.flag("scale_embedding", true) ? 0 : 1;  // 0: sqrt(C)
  c.norm_order = NormOrder::pre;
  c.sinusoids = SinusoidLayout::tensor2tensor;
  c.position_offset = hf.index("pad_token_id", 1) + 1;
  return c;
}

TensorNames m2m_100_tensors(const HfConfig& hf, const TransformerConfig& ours) {
  TensorNames names = family::bart.tensors(hf, ours);
  names.ignore(".embed_positions.weights");  // sinusoids
  return names;
}

}  // namespace

const Family family::m2m_100 = {"m2m_100", m2m_100_config, m2m_100_tensors};

}  // namespace qkv
