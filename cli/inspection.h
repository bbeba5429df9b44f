// Pictures of the attention weights of a translation, or of a text of a language model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "qkv/picture/heatmap.h"
#include "qkv/pipeline/inspect.h"

namespace qkv::cli {

// All layers and heads.
Picture picture_of(const Inspection& inspection, const std::string& sentence);

}  // namespace qkv::cli
