#include "cli/inspection.h"

#include <cmath>

namespace qkv::cli {

Picture picture_of(const Inspection& inspection, const std::string& sentence) {
  std::vector<AttentionGroup> groups;
  for (const AttentionMaps& maps : inspection.attention)
    groups.push_back({.title = maps.title,
                      .layers = maps.layers,
                      .rows = maps.rows,
                      .columns = maps.columns,
                      .caption = maps.caption});
  const bool translated = inspection.attention.back().use == AttentionUse::cross;
  AttentionPictureOptions options = {.title = sentence, .metadata = {{translated ? "source" : "text", sentence}}};
  if (translated || inspection.text != sentence) {
    options.title += "  \u2192  " + inspection.text;
    options.metadata.emplace_back(translated ? "translation" : "filled", inspection.text);
  }
  options.metadata.emplace_back("log-probability", fmt::format("{:.4f}", inspection.log_probability));
  return attention_picture(groups, options);
}

}  // namespace qkv::cli
