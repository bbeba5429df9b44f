// The calls of attention() in the cost tables of doc/, all of the default shape below unless a row has another.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "doc/normal.h"
#include "qkv/attention/attention.h"
#include "qkv/attention/local.h"
#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/blocks.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/attention/mask/mask_mod.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/prefix.h"
#include "qkv/attention/mask/strided.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/relative_bias.h"
#include "qkv/attention/modify/softcap.h"
#include "qkv/attention/normalize/kernel_weights.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/attention/score/location.h"
#include "qkv/op/rotary.h"

namespace qkv::doc {

struct Mechanism {
  std::string page;  // whose table has the row
  std::function<AttentionOptions(const Variable& q)> options;
  AttentionShape shape = {.B = 1, .H = 4, .G = 4, .T = 4096, .S = 4096, .D = 64, .E = 64};
  // Applied to queries and keys before the call, and its name.
  std::function<Variable(const Variable&)> transform = {};
  std::string transform_name = {};
};

// A trainable parameter.
inline Variable parameter(const Shape& shape, double spread = 0.1) {
  return Variable(normal(shape, 9, spread), {.requires_grad = true});
}

// Document ids of a row: eight documents of 512 positions.
inline Tensor eight_documents() {
  std::vector<int32_t> ids(4096);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i / 512);
  return Tensor::from(ids, {1, 4096});
}

inline Tensor checkerboard() {
  Tensor table = Tensor::empty({1, 1, 4096, 4096}, DType::u8);
  const std::span<uint8_t> visible = table.span<uint8_t>();
  for (size_t at = 0; at < visible.size(); ++at) visible[at] = (at / 4096 + at) % 2;
  return table;
}

inline std::vector<Mechanism> mechanisms() {
  using Options = AttentionOptions;
  const AttentionShape short_sequences = {.B = 16, .H = 1, .G = 1, .T = 128, .S = 128, .D = 64, .E = 64};
  const auto grouped = [](int64_t G) {
    return AttentionShape{.B = 1, .H = 8, .G = G, .T = 4096, .S = 4096, .D = 64, .E = 64};
  };
  const auto one_query = [](int64_t G) {
    return AttentionShape{.B = 1, .H = 8, .G = G, .T = 1, .S = 4096, .D = 64, .E = 64};
  };
  return {
      {"scaled_dot", [](const auto&) { return Options{}; }},
      {"bilinear", [](const auto&) { return Options{.score = dot()}; }},
      {"bilinear",
       [](const auto&) {
         return Options{.score = bilinear(parameter({64, 64}))};
       }},
      {"additive",
       [](const auto&) {
         return Options{.score = additive(parameter({64, 64}), parameter({64, 64}), parameter({64}))};
       },
       short_sequences},
      {"cosine", [](const auto&) { return Options{.score = cosine(10)}; }},
      {"distance", [](const auto&) { return Options{.score = distance()}; }},
      {"distance", [](const auto&) { return Options{.score = gaussian(2)}; }},
      {"location",
       [](const auto&) {
         return Options{.score = location(parameter({4096, 64}))};
       }},
      {"softcap", [](const auto&) { return Options{.modify = {softcap(50)}}; }},
      {"alibi", [](const auto&) { return Options{.modify = {alibi(alibi_slopes(4))}}; }},
      {"alibi", [](const auto&) { return Options{.modify = {alibi(alibi_slopes(4))}, .mask = causal()}; }},
      {"relative_bias",
       [](const auto&) {
         return Options{.modify = {relative_bias(parameter({32, 4}))}};
       }},
      {"bias",
       [](const auto&) {
         return Options{.modify = {bias(Tensor::zeros({1, 1, 4096, 4096}))}};
       }},
      {"causal", [](const auto&) { return Options{.mask = causal()}; }},
      {"window", [](const auto&) { return Options{.mask = window(256)}; }},
      {"window", [](const auto&) { return Options{.mask = causal() & window(256)}; }},
      {"padding",
       [](const auto&) {
         return Options{.mask = padding({1024, 2048, 3072, 4096})};
       },
       {.B = 4, .H = 1, .G = 1, .T = 4096, .S = 4096, .D = 64, .E = 64}},
      {"documents", [](const auto&) { return Options{.mask = documents(eight_documents())}; }},
      {"documents", [](const auto&) { return Options{.mask = causal() & documents(eight_documents())}; }},
      {"prefix", [](const auto&) { return Options{.mask = causal() | prefix({1024})}; }},
      {"dense", [](const auto&) { return Options{.mask = dense(checkerboard())}; }},
      {"blocks",
       [](const auto&) {
         const Tensor adjacent = bigbird_table(4096, {.global_blocks = {}, .random_blocks = 0});
         return Options{.mask = blocks(adjacent, 64)};
       }},
      {"dilated", [](const auto&) { return Options{.mask = dilated(64, 4)}; }},
      {"dilated", [](const auto&) { return Options{.mask = strided(64)}; }},
      {"longformer",
       [](const auto&) {
         return Options{.mask = longformer(256, {0, 1, 2, 3})};
       }},
      {"bigbird", [](const auto&) { return Options{.mask = bigbird()}; }},
      {"combining",
       [](const auto&) { return Options{.mask = causal() & (window(256) | prefix({64})) & !window(4)}; }},
      {"softmax", [](const auto&) { return Options{.normalize = softmax()}; }},
      {"softmax", [](const auto&) { return Options{.normalize = softmax_with_sink(parameter({4}))}; }},
      {"kernel_pooling", [](const auto&) { return Options{.score = gaussian(8), .normalize = softmax()}; }},
      {"kernel_pooling", [](const auto&) { return Options{.score = gaussian(8), .normalize = boxcar()}; }},
      {"kernel_pooling", [](const auto&) { return Options{.score = gaussian(8), .normalize = epanechnikov()}; }},
      {"dropout", [](const auto&) { return Options{.reweigh = {weight_dropout({.rate = 0.1, .seed = 1})}}; }},
      {"local", [](const auto&) { return Options{.score = dot(), .mask = local_m(10)}; }},
      {"local",
       [](const auto& q) {
         const PredictedWindow near =
             local_p(q, parameter({64, 64}), parameter({64}), Tensor::from(std::vector{4096}, {1}), 10);
         return Options{.score = dot(), .mask = near.mask, .reweigh = {near.reweigh}};
       }},
      {"heads", [](const auto&) { return Options{}; }},
      {"heads",
       [](const auto&) { return Options{}; },
       {.B = 1, .H = 1, .G = 1, .T = 4096, .S = 4096, .D = 256, .E = 256}},
      {"cross",
       [](const auto&) { return Options{.mask = padding({3000})}; },
       {.B = 1, .H = 4, .G = 4, .T = 1024, .S = 4096, .D = 64, .E = 64}},
      {"rotary",
       [](const auto&) { return Options{}; },
       {.B = 1, .H = 4, .G = 4, .T = 4096, .S = 4096, .D = 64, .E = 64},
       [](const Variable& x) { return rotary(x); },
       "rotary"},
      {"grouped", [](const auto&) { return Options{.mask = causal()}; }, grouped(8)},
      {"grouped", [](const auto&) { return Options{.mask = causal()}; }, grouped(2)},
      {"grouped", [](const auto&) { return Options{.mask = causal()}; }, grouped(1)},
      {"decoding", [](const auto&) { return Options{}; }, one_query(8)},
      {"decoding", [](const auto&) { return Options{}; }, one_query(2)},
      {"decoding", [](const auto&) { return Options{}; }, one_query(1)},
      {"flash", [](const auto&) { return Options{}; }},
  };
}

}  // namespace qkv::doc
