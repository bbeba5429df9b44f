// Scores other than the scaled dot product. All heads share the parameters of a score; each has its own
// projections.

#include <cmath>

#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/attention/score/location.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/initialise.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

using Numbers = AttentionMechanism::Numbers;
using Parameters = AttentionMechanism::Parameters;
using Role = AttentionMechanism::Role;

// m = I / sqrt(D): the scaled dot product.
void initialise_scaled_dot(Variable& m, uint64_t, const std::string&) {
  const int64_t D = m.dim(0);
  m.mutable_value().fill(0.0f);
  for (int64_t d = 0; d < D; ++d)
    m.mutable_value().data<float>()[d * D + d] = 1.0f / std::sqrt(static_cast<float>(D));
}

Parameters parameters_of_bilinear(const Numbers&, const AttentionSize& size) {
  const Axis D(size.head_width(), "D");
  return {{"matrix", Parameter({D, D}, initialise_scaled_dot)}};
}

Parameters parameters_of_additive(const Numbers& n, const AttentionSize& size) {
  const Axis D(size.head_width(), "D"), width(integer(n, 0) == 0 ? D.size : integer(n, 0), "width");
  return {{"query", Parameter({width, D}, fan_in_uniform)},
          {"key", Parameter({width, D}, fan_in_uniform)},
          {"score", score_vector(width)}};
}

Parameters parameters_of_location(const Numbers& n, const AttentionSize& size) {
  return {{"rows", Parameter({{integer(n, 0), "keys"}, {size.head_width(), "D"}}, fan_in_uniform)}};
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
  constexpr double max_width = 1 << 16;
  return {
      {.name = "dot",
       .help = "dot product without a scale, q . k (Luong et al., 2015)",
       .role = Role::score,
       .excludes = {Role::score},
       .add_to = [](AttentionOptions& options, const AttentionPart&) { options.score = dot(); }},
      {.name = "bilinear",
       .help = "bilinear score q^T M k (Luong et al., 2015, \"general\")",
       .role = Role::score,
       .excludes = {Role::score},
       .parameters = parameters_of_bilinear,
       .add_to = add_bilinear},
      {.name = "additive",
       .help = "additive score w_v . tanh(w_q q + w_k k) with a hidden layer of WIDTH, 0 for that of a head "
               "(Bahdanau et al., 2015)",
       .role = Role::score,
       .excludes = {Role::score},
       .numbers = {{"width", 0, max_width, 0}},
       .parameters = parameters_of_additive,
       .add_to = add_additive},
      {.name = "cosine",
       .help = "cosine of query and key, times SCALE and a learned gain",
       .role = Role::score,
       .excludes = {Role::score},
       .numbers = {{"scale", 1e-6, 1e6, 10, false}},
       .parameters =
           [](const Numbers&, const AttentionSize&) {
             return Parameters{{"gain", Parameter({Axis(1)}, {}, 1.0f)}};
           },
       .add_to = add_cosine},
      {.name = "distance",
       .help = "score -|q - k|^2 / 2",
       .role = Role::score,
       .excludes = {Role::score},
       .add_to = add_distance},
      // Sigma is fixed: the projections can scale queries and keys.
      {.name = "gaussian",
       .help = "score -|q - k|^2 / (2 sigma^2)",
       .role = Role::score,
       .excludes = {Role::score},
       .numbers = {{"sigma", 1e-6, 1e6, {}, false}},
       .add_to = add_gaussian},
      {.name = "location",
       .help = "location-based score W q: from the query alone, for the first KEYS keys; no key projections "
               "(Luong et al., 2015)",
       .role = Role::score,
       .excludes = {Role::score, Role::global_projections},
       .reads_keys = false,
       .numbers = {{"keys", 1, max_width, 256}},
       .parameters = parameters_of_location,
       .add_to = add_location},
  };
}

}  // namespace qkv
