// Words that say how a query meets a key. Weights are shared by the heads: each head has projections of its own
// before.

#include <cmath>

#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/location.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Parameters = std::vector<AttentionMechanism::Parameter>;
using Role = AttentionMechanism::Role;

// m = I / sqrt(D): a scaled dot product to begin with.
void start_as_scaled_dot(Variable& m, uint64_t, const std::string&) {
  const int64_t D = m.dim(0);
  m.mutable_value().fill(0.0f);
  for (int64_t d = 0; d < D; ++d)
    m.mutable_value().data<float>()[d * D + d] = 1.0f / std::sqrt(static_cast<float>(D));
}

Parameters of_bilinear(const Numbers&, const AttentionSize& size) {
  const int64_t D = size.head_width();
  return {{"matrix", {D, D}, "D^2", start_as_scaled_dot}};
}

Parameters of_additive(const Numbers& n, const AttentionSize& size) {
  const int64_t D = size.head_width(), width = whole(n, 0) == 0 ? D : whole(n, 0);
  return {{"query", {width, D}, "width D", xavier_uniform},
          {"key", {width, D}, "width D", xavier_uniform},
          {"score", {width}, "width", start_as_score}};
}

Parameters of_location(const Numbers& n, const AttentionSize& size) {
  return {{"rows", {whole(n, 0), size.head_width()}, "keys D", xavier_uniform}};
}

void add_bilinear(AttentionOptions& options, const AttentionPart& part) {
  options.score = bilinear(part.parameter(0));
}
void add_additive(AttentionOptions& options, const AttentionPart& part) {
  options.score = additive(part.parameter(0), part.parameter(1), part.parameter(2));
}
void add_cosine(AttentionOptions& options, const AttentionPart& part) {
  options.score = cosine(static_cast<float>(part.numbers()[0]), part.parameter(0));
}
void add_distance(AttentionOptions& options, const AttentionPart&) { options.score = distance(); }
void add_gaussian(AttentionOptions& options, const AttentionPart& part) {
  options.score = gaussian(static_cast<float>(part.numbers()[0]));
}
void add_location(AttentionOptions& options, const AttentionPart& part) {
  options.score = location(part.parameter(0));
}

}  // namespace

AttentionMechanisms score_mechanisms() {
  constexpr double most_width = 1 << 16;
  return {
      {.name = "bilinear",
       .help = "through a matrix, q M k (Luong et al., 2015, \"general\")",
       .role = Role::score,
       .excludes = {Role::score},
       .parameters = of_bilinear,
       .add_to = add_bilinear},
      {.name = "additive",
       .help = "through a hidden layer, as wide as a head unless given (Bahdanau et al., 2015)",
       .role = Role::score,
       .excludes = {Role::score},
       .numbers = {{"width", 0, most_width, 0}},
       .parameters = of_additive,
       .add_to = add_additive},
      {.name = "cosine",
       .help = "by direction alone, times the scale and a learnt gain",
       .role = Role::score,
       .excludes = {Role::score},
       .numbers = {{"scale", 1e-6, 1e6, 10, false}},
       .parameters =
           [](const Numbers&, const AttentionSize&) {
             return Parameters{{"gain", {1}, "1", start_with_ones}};
           },
       .add_to = add_cosine},
      {.name = "distance",
       .help = "the nearer the higher, -|q - k|^2 / 2",
       .role = Role::score,
       .excludes = {Role::score},
       .add_to = add_distance},
      // The projections learn the width: they can stretch queries and keys.
      {.name = "gaussian",
       .help = "the nearer the higher, -|q - k|^2 / (2 sigma^2)",
       .role = Role::score,
       .excludes = {Role::score},
       .numbers = {{"sigma", 1e-6, 1e6, {}, false}},
       .add_to = add_gaussian},
      {.name = "location",
       .help = "the query says at which of so many first keys to look (Luong et al., 2015)",
       .role = Role::score,
       .excludes = {Role::score},
       .numbers = {{"keys", 1, most_width, 256}},
       .parameters = of_location,
       .add_to = add_location},
  };
}

}  // namespace qkv
