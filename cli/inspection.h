// Drawing where a model looked, for the commands that do.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "qkv/decode/inspect.h"
#include "qkv/picture/heatmap.h"

namespace qkv::cli {

// Every layer and head of one translation.
Picture picture_of(const Inspection& explanation, const std::string& sentence);

}  // namespace qkv::cli
