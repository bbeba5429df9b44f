// The uses of attention in a Transformer.
#pragma once

namespace qkv {

// Self-attention of the encoder (bidirectional), self-attention of the decoder (causal), and attention of the
// decoder to the encoder's output.
enum class AttentionUse { encoder, decoder, cross };

}  // namespace qkv
