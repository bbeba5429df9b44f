// The table of attention shapes and masks that attention_bench and attention_peers.py time.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "qkv/attention/attention.h"
#include "qkv/attention/explain.h"
#include "qkv/attention/mask/blocks.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/score/additive.h"
#include "qkv/base/random.h"

namespace qkv::bench {

enum class Pattern { full, causal, window, padding, documents, longformer, bigbird, alibi, additive };

struct Case {
  const char* name;
  int64_t B, H, G, T, S, D;
  Pattern pattern;
};

inline const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"full_2k_d64", 1, 16, 16, 2048, 2048, 64, Pattern::full},
      {"causal_2k_d64", 1, 16, 16, 2048, 2048, 64, Pattern::causal},
      {"full_2k_d128", 1, 16, 16, 2048, 2048, 128, Pattern::full},
      {"causal_2k_d128", 1, 16, 16, 2048, 2048, 128, Pattern::causal},
      {"causal_8k_d64", 1, 8, 8, 8192, 8192, 64, Pattern::causal},
      {"gqa_1k_d128_causal", 1, 32, 8, 1024, 1024, 128, Pattern::causal},
      {"batch16_128_causal", 16, 8, 8, 128, 128, 64, Pattern::causal},
      {"batch64_32_full", 64, 8, 8, 32, 32, 64, Pattern::full},
      {"decode_b32_512", 32, 8, 8, 1, 512, 64, Pattern::full},
      {"decode_gqa_4k_d128", 1, 32, 8, 1, 4096, 128, Pattern::full},
      {"window256_8k", 1, 8, 8, 8192, 8192, 64, Pattern::window},
      {"padlen_b16_128", 16, 8, 8, 128, 128, 64, Pattern::padding},
      {"docs8_4k", 1, 8, 8, 4096, 4096, 64, Pattern::documents},
      {"bigbird_4k", 1, 8, 8, 4096, 4096, 64, Pattern::bigbird},
      {"alibi_2k", 1, 16, 16, 2048, 2048, 64, Pattern::alibi},
      {"longformer_16k", 1, 8, 8, 16384, 16384, 64, Pattern::longformer},
      {"bigbird_16k", 1, 8, 8, 16384, 16384, 64, Pattern::bigbird},
      {"additive_b16_128", 16, 1, 1, 128, 128, 256, Pattern::additive},
      {"additive_b4_512", 4, 1, 1, 512, 512, 256, Pattern::additive},
  };
  return all;
}

inline constexpr int64_t window_keys = 256;                                // including the position of the query
inline constexpr int64_t longformer_radius = 256, longformer_global = 16;  // to each side; the first positions
inline constexpr int64_t document_lengths[] = {96, 1024, 320, 640, 201, 777, 512, 526};
inline const std::vector<int32_t> padding_lengths = {41, 87,  77, 23, 128, 16, 102, 65,
                                                     34, 119, 58, 96, 71,  29, 110, 47};

// Blocks of 64: each block and its two neighbors, 2 global blocks, 3 random ones per row.
inline constexpr int64_t bigbird_block = 64;
inline Tensor bigbird_table(int64_t T) {
  const int64_t n = T / bigbird_block;
  Tensor table = Tensor::zeros({1, 1, n, n}, DType::u8);
  Random random(3, 0);
  for (int64_t i = 0; i < n; ++i) {
    uint8_t* row = table.data<uint8_t>() + i * n;
    for (int64_t j = 0; j < n; ++j) row[j] = std::abs(i - j) <= 1 || i < 2 || j < 2;
    for (int drawn = 0; drawn < 3; ++drawn) row[random.below(static_cast<uint64_t>(n))] = 1;
  }
  return table;
}

inline MaskPtr mask_for(const Case& c) {
  switch (c.pattern) {
    case Pattern::full:
    case Pattern::additive: return {};
    case Pattern::causal:
    case Pattern::alibi: return causal();
    case Pattern::window: return causal() & window(window_keys - 1, 0);
    case Pattern::padding: return padding(padding_lengths);
    case Pattern::bigbird: return blocks(bigbird_table(c.T), bigbird_block);
    case Pattern::longformer: {
      std::vector<int64_t> positions(longformer_global);
      std::iota(positions.begin(), positions.end(), 0);
      return longformer(longformer_radius, positions);
    }
    case Pattern::documents: break;
  }
  Tensor ids = Tensor::empty({1, c.T}, DType::i32);
  int32_t* id = ids.data<int32_t>();
  int32_t number = 0;
  for (const int64_t length : document_lengths) id = std::fill_n(id, length, number++);
  return causal() & documents(ids);
}

inline Tensor normal(const Shape& shape, uint64_t stream, float scale = 1.0f) {
  Tensor x = Tensor::empty(shape);
  Random random(5, stream);
  for (float& v : x.span<float>()) v = scale * static_cast<float>(random.normal());
  return x;
}

// The options of a call, and the learned parameters in them.
struct BenchCall {
  AttentionOptions options;
  std::vector<Variable> parameters;
};
inline BenchCall call_of(const Case& c, bool requires_grad) {
  BenchCall out = {.options = {.mask = mask_for(c)}, .parameters = {}};
  if (c.pattern == Pattern::alibi) out.options.modify = {alibi(alibi_slopes(c.H))};
  if (c.pattern == Pattern::additive) {  // F = D features
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.D));
    for (const Shape& shape : {Shape{c.D, c.D}, Shape{c.D, c.D}, Shape{c.D}})
      out.parameters.push_back(
          Variable(normal(shape, 10 + out.parameters.size(), scale), {.requires_grad = requires_grad}));
    out.options.score = additive(out.parameters[0], out.parameters[1], out.parameters[2]);
  }
  return out;
}

inline AttentionPlan plan_of(const Case& c) {
  const Tensor one = Tensor::zeros({1, 1, 1, 1});  // only the shapes are read
  const Tensor q = one.expand({c.B, c.H, c.T, c.D}), k = one.expand({c.B, c.G, c.S, c.D});
  return attention_plan(q, k, k, call_of(c, false).options);
}

}  // namespace qkv::bench
