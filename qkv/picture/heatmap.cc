#include "qkv/picture/heatmap.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

// The heads (H, T, S) of a layer as panels "LAYER, head 0", ...
void add_heads(const Tensor& heads, const HeatmapOptions& tokens, const std::string& layer,
               std::vector<Panel>& panels) {
  for (int64_t head = 0; head < heads.dim(0); ++head)
    panels.push_back({fmt::format("{}{}head {}", layer, layer.empty() ? "" : ", ", head), heads.select(0, head),
                      tokens.rows, tokens.columns});
}

PanelGroup grid(const std::vector<Tensor>& layers, const HeatmapOptions& tokens) {
  PanelGroup group;
  group.per_line = layers.empty() ? 1 : std::max<int64_t>(layers[0].dim(0), 1);
  group.heads = group.per_line;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    group.line_titles.push_back(fmt::format("layer {}", layer));
    add_heads(layers[layer], tokens, group.line_titles.back(), group.panels);
  }
  for (int64_t head = 0; head < group.per_line; ++head) group.column_titles.push_back(fmt::format("head {}", head));
  return group;
}

PanelGroup group_of(const Tensor& weights, const HeatmapOptions& options) {
  require(weights.defined() && weights.rank() >= 2 && weights.rank() <= 4, "heatmap",
          "expected weights (T, S), (H, T, S) or (N, H, T, S), got {}",
          weights.defined() ? to_string(weights.shape()) : "none");
  PanelGroup group;
  if (weights.rank() == 2) {
    group.panels = {{"", weights, options.rows, options.columns}};
  } else if (weights.rank() == 3) {
    add_heads(weights, options, "", group.panels);
    group.heads = weights.dim(0);
    group.per_line = std::min<int64_t>(4, std::max<int64_t>(1, weights.dim(0)));
  } else {
    std::vector<Tensor> layers;
    for (int64_t n = 0; n < weights.dim(0); ++n) layers.push_back(weights.select(0, n));
    group = grid(layers, options);
  }
  return group;
}

}  // namespace

Picture heatmap(const Tensor& weights, const HeatmapOptions& options) {
  return Picture({.title = options.title, .groups = {group_of(weights, options)}, .caption = options.caption});
}

Picture head_view(const Tensor& weights, const HeatmapOptions& options) {
  return Picture(
      {.title = options.title, .groups = {group_of(weights, options)}, .caption = options.caption, .lines = true});
}

Picture heatmaps(std::vector<Panel> panels, const PanelsOptions& options) {
  PanelGroup group;
  group.panels = std::move(panels);
  group.per_line = options.per_line;
  return Picture({.title = options.title, .groups = {std::move(group)}, .caption = options.caption});
}

Picture attention_picture(const std::vector<AttentionGroup>& groups, const AttentionPictureOptions& options) {
  PictureContent content{.title = options.title, .groups = {}, .caption = {}, .metadata = options.metadata};
  content.selected_group = options.selected_group;
  for (const AttentionGroup& group : groups) {
    std::vector<Tensor> layers;
    for (const Tensor& layer : group.layers) {
      require(layer.defined() && (layer.rank() == 3 || (layer.rank() == 4 && layer.dim(0) == 1)),
              "attention_picture", "{}: expected weights (H, T, S) or (1, H, T, S) of one sequence, got {}",
              group.title, layer.defined() ? to_string(layer.shape()) : "none");
      layers.push_back(layer.rank() == 4 ? layer.select(0, 0) : layer);
      require(layers.back().dim(0) == layers[0].dim(0), "attention_picture",
              "{}: layer {} has {} heads, layer 0 has {}", group.title, layers.size() - 1, layers.back().dim(0),
              layers[0].dim(0));
    }
    content.groups.push_back(grid(layers, {.rows = group.rows, .columns = group.columns}));
    content.groups.back().title = group.title;
    content.groups.back().caption = group.caption;
  }
  return Picture(std::move(content));
}

}  // namespace qkv
