#include "cli/inspection.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/interpret/rollout.h"

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

// Of a self-attention, as one head.
AttentionGroup rollout_group(const AttentionMaps& maps) {
  const Tensor shares = attention_rollout(maps.layers);
  return {.title = "rollout of " + maps.title,
          .layers = {shares.reshape({1, shares.dim(0), shares.dim(1)})},
          .rows = maps.rows,
          .columns = maps.columns,
          .caption = maps.caption};
}

}  // namespace

Picture picture_of(const Inspection& inspection, const InspectionPicture& how) {
  std::vector<AttentionGroup> groups;
  for (const AttentionMaps& maps : inspection.attention)
    groups.push_back({.title = maps.title,
                      .layers = maps.layers,
                      .rows = maps.rows,
                      .columns = maps.columns,
                      .caption = maps.caption});
  const bool translated = inspection.attention.back().use == AttentionUse::cross;
  AttentionPictureOptions options = {.title = how.title, .metadata = {{translated ? "source" : "text", how.title}}};
  options.selected_group = how.opens_with ? group_of(inspection, *how.opens_with) : std::ssize(groups) - 1;
  for (const AttentionMaps& maps : inspection.attention)
    if (how.rollout && maps.use != AttentionUse::cross) groups.push_back(rollout_group(maps));
  if (inspection.tokens.empty()) return attention_picture(groups, options);
  if (translated || inspection.text != how.title) {
    options.title += "  \u2192  " + inspection.text;
    options.metadata.emplace_back(translated ? "translation" : "filled", inspection.text);
  }
  options.metadata.emplace_back("log-probability", fmt::format("{:.4f}", inspection.log_probability));
  return attention_picture(groups, options);
}

}  // namespace qkv::cli
