// Pictures of the attention weights of a translation, or of a text of a language model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "qkv/picture/heatmap.h"
#include "qkv/pipeline/inspect.h"

namespace qkv::cli {

struct InspectionPicture {
  std::string title;                            // the sentence
  std::optional<AttentionUse> opens_with = {};  // of a page; none: the last group
  bool rollout = false;                         // a group more for each self-attention (interpret/rollout.h)
};
// All layers and heads. UsageError if the model has no such attention.
Picture picture_of(const Inspection& inspection, const InspectionPicture& how);

}  // namespace qkv::cli
