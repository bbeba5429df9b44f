// Position encodings that are mechanisms of self-attention: rotary, ALiBi, relative bias.
//
//     with_positions(SlidingWindow{64}, Positions::rotary)      // window=64+rotary
//     mechanism_of_positions(Positions::sinusoidal)             // the variant without any mechanism
#pragma once

#include "qkv/model/config.h"

namespace qkv {

AttentionVariant mechanism_of_positions(Positions positions);
AttentionVariant with_positions(AttentionVariant variant, Positions positions);

}  // namespace qkv
