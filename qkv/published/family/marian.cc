// Marian (Junczys-Dowmunt et al., 2018), the format of the OPUS-MT models: the Transformer of 2017 with the names of
// BART.
#include "qkv/published/family/marian.h"

namespace qkv {
namespace {

TransformerConfig marian_config(const HfConfig& hf) {
  TransformerConfig c = encoder_decoder_config(hf);
  c.target_vocabulary = hf.count("decoder_vocab_size", c.source_vocabulary);
  c.sinusoids = SinusoidLayout::halves;
  if (hf.flag(positions_in_checkpoint, false)) {
    c.positions = Positions::learned;
    c.sinusoids = SinusoidLayout::interleaved;
  }
  c.output_bias = true;
  if (!hf.flag("share_encoder_decoder_embeddings", true))
    c.tie = hf.flag("tie_word_embeddings", true) ? Tie::target : Tie::none;
  return c;
}

TensorNames marian_tensors(const HfConfig& hf, const TransformerConfig& ours) {
  TensorNames names = family::bart.tensors(hf, ours);
  if (ours.positions == Positions::sinusoidal) names.ignore(".embed_positions.weight");
  return names;
}

}  // namespace

const Family family::marian = {"marian", marian_config, marian_tensors};

}  // namespace qkv
