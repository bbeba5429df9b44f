#include "cli/inspection.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv::cli {

namespace {

int64_t group_of(const Inspection& inspection, AttentionUse use) {
  const std::vector<AttentionMaps>& all = inspection.attention;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const AttentionMaps& maps) { return maps.use == use; });
  std::vector<std::string> titles;
  titles.reserve(all.size());
  for (const AttentionMaps& maps : all) titles.push_back(maps.title);
  require<UsageError>(found != all.end(), "qkv inspect", "--attention {}: this model has {} only", name_of(use),
                      name_list(titles));
  return found - all.begin();
}

}  // namespace

Picture picture_of(const Inspection& inspection, const std::string& sentence, std::optional<AttentionUse> use) {
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
  if (use) options.selected_group = group_of(inspection, *use);
  options.metadata.emplace_back("log-probability", fmt::format("{:.4f}", inspection.log_probability));
  return attention_picture(groups, options);
}

}  // namespace qkv::cli
