// Pegasus (Zhang et al., 2020): a pre-LN Transformer with sinusoids, and with the names of BART.
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig pegasus_config(const HfConfig& hf) {
  TransformerConfig c = encoder_decoder_config(hf);
  c.norm_order = NormOrder::pre;
  c.sinusoids = SinusoidLayout::halves;
  c.output_bias = true;
  return c;
}

TensorNames pegasus_tensors(const HfConfig& hf, const TransformerConfig& ours) {
  TensorNames names = family::bart.tensors(hf, ours);
  names.ignore(".embed_positions.weight");  // sinusoids
  return names;
}

}  // namespace

const Family family::pegasus = {"pegasus", pegasus_config, pegasus_tensors};

}  // namespace qkv
