// What models that qkv writes for MarianMTModel of Hugging Face have in addition.
#pragma once

#include "qkv/published/family/family.h"
#include "qkv/published/zero_start.h"

namespace qkv {

// A key of config.json that only write_marian.h writes: the position tables are in the checkpoint and are not plain
// sinusoids.
inline constexpr const char* positions_in_checkpoint = "position_embeddings_in_checkpoint";

}  // namespace qkv
