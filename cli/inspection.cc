#include "cli/inspection.h"

#include <cmath>

namespace qkv::cli {

Picture picture_of(const Inspection& inspection, const std::string& sentence) {
  std::vector<AttentionGroup> groups;
  for (const AttentionMaps& maps : inspection.attention)
    groups.push_back({.title = maps.title, .layers = maps.layers, .rows = maps.rows, .columns = maps.columns});
  return attention_picture(groups,
                           {.title = sentence + "  \u2192  " + inspection.text,
                            .metadata = {{"source", sentence},
                                         {"translation", inspection.text},
                                         {"log-probability", fmt::format("{:.4f}", inspection.log_probability)}}});
}

}  // namespace qkv::cli
