// What the Marian of Hugging Face has besides its family.
#pragma once

#include "qkv/model/family/family.h"
#include "qkv/model/family/zero_start.h"

namespace qkv {

// A key of config.json that only write_marian.h writes: its tables of positions are in the checkpoint, and not sinusoids alone.
inline constexpr const char* positions_in_checkpoint = "position_embeddings_in_checkpoint";

}  // namespace qkv
