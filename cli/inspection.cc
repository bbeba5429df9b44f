#include "cli/inspection.h"

#include <cmath>

namespace qkv::cli {

Picture picture_of(const Inspection& explanation, const std::string& sentence) {
  std::vector<AttentionGroup> groups;
  for (const AttentionMaps& maps : explanation.attention)
    groups.push_back({.title = maps.title, .layers = maps.layers, .rows = maps.rows, .columns = maps.columns});
  return attention_picture(groups,
                           {.title = sentence + "  \u2192  " + explanation.text,
                            .metadata = {{"source", sentence},
                                         {"translation", explanation.text},
                                         {"log-probability", fmt::format("{:.4f}", explanation.log_probability)}}});
}

}  // namespace qkv::cli
