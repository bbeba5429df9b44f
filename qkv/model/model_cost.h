// What a forward pass of a model over a whole batch computes, reads and keeps, part by part, and how that grows.
//
//     const ModelCost cost = model_cost(config, {.source_length = 100, .target_length = 100, .batch = 32});
//     cost.flops, cost.bytes, cost.intensity()
//     std::string text = explain(config, {.source_length = 100, .target_length = 100});
//
// B sources of S tokens and targets of T tokens: the FLOPs and bytes of a token (token_flops.h) times the tokens, with each
// matrix read once. Of a masked model, one token of each text is masked. The KV cache is that of B hypotheses after T tokens,
// in f32.
// Errors   UsageError for a configuration that does not fit together, and lengths beyond the positions of the model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qkv/model/token_flops.h"

namespace qkv {

struct PartCost {
  std::string part;  // "encoder: self-attention, 25 of 25 keys"
  double flops = 0, bytes = 0;

  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
};

struct ModelCost {
  std::vector<PartCost> parts = {};
  double flops = 0, bytes = 0;  // of all parts
  double weight_bytes = 0;      // of the matrices that the parts read
  double cache_bytes = 0;

  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
};
ModelCost model_cost(const ModelConfig& config, const DescribeOptions& options = {});

struct ModelGrowth {
  std::string_view size;  // "source S", "target T", "batch B", "width C", "heads H", "layers"
  int64_t factor = 1;
  ModelCost cost = {};
};
// Each size at 1, 2, 4 and 8 times what is given, the others as they are: C with the width F of the feed-forward network, H with
// narrower heads. Left out are sizes that the model has not, lengths beyond its positions, and what does not fit together.
std::vector<ModelGrowth> model_growth(const ModelConfig& config, const DescribeOptions& options = {});

// The costs of the parts and the growth, as tables.
std::string explain(const ModelConfig& config, const DescribeOptions& options = {});

}  // namespace qkv
