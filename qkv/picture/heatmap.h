// Heat maps of attention weights.
//
//     auto [y, weights, lse] = attention_with_weights(q, k, v);
//     heatmap(weights.select(0, 0), {.rows = source, .columns = source, .title = "layer 0"}).save("layer0.svg");
//
// heatmap() and head_view() take one matrix (T, S), the heads (H, T, S) of a layer, or all of a stack (N, H, T,
// S): layers down, heads across, both counted from 0 as in the arrays. head_view() draws a line for every pair of a query (left) and a key (right), its
// opacity in proportion to the weight (Vig, "A Multiscale Visualization of Attention in the Transformer Model",
// 2019).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qkv/picture/picture.h"

namespace qkv {

struct HeatmapOptions {
  std::vector<std::string> rows = {}, columns = {};  // T query tokens and S key tokens; none: their indices
  std::string title = {}, caption = {};              // default caption: "rows: queries, columns: keys"
};
Picture heatmap(const Tensor& weights, const HeatmapOptions& options = {});
Picture head_view(const Tensor& weights, const HeatmapOptions& options = {});

struct PanelsOptions {
  std::string title = {}, caption = {};
  int64_t per_line = 4;
};
Picture heatmaps(std::vector<Panel> panels, const PanelsOptions& options = {});

// All attention weights of a model: one group for each stack of attentions.
struct AttentionGroup {
  std::string title;                                 // "encoder self-attention"
  std::vector<Tensor> layers;                        // (H, T, S) or (1, H, T, S), one per layer
  std::vector<std::string> rows = {}, columns = {};  // tokens of every layer and head
  std::string caption = {};                          // what rows and columns are
};
struct AttentionPictureOptions {
  std::string title = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};  // shown, and part of the JSON: {"model", "demo"}
  int64_t selected_group = -1;  // the page opens with it; negative: from the last, which is cross-attention
};
Picture attention_picture(const std::vector<AttentionGroup>& groups, const AttentionPictureOptions& options = {});

}  // namespace qkv
