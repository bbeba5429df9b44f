// Pictures of the attention weights of a translation, or of a text of a language model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "qkv/picture/heatmap.h"
#include "qkv/pipeline/inspect.h"

namespace qkv::cli {

// All layers and heads.
// The page opens with the last group, or with that of `use`; UsageError if the model has no such attention.
Picture picture_of(const Inspection& inspection, const std::string& sentence, std::optional<AttentionUse> use = {});

}  // namespace qkv::cli
