#include "qkv/layer/mechanism/table.h"

#include <cmath>

#include <fmt/format.h>

namespace qkv {
namespace {

AttentionMechanisms all_words() {
  AttentionMechanisms all = {{.name = "full",
                              .help = "every query sees every key, by scaled dot products: the default",
                              .role = AttentionMechanism::Role::full}};
  for (const AttentionMechanisms& group :
       {mask_mechanisms(), projection_mechanisms(), score_mechanisms(), kernel_mechanisms(), modify_mechanisms(),
        normalize_mechanisms(), place_mechanisms(), position_mechanisms(), multi_token_mechanisms()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

std::span<const AttentionMechanism> attention_mechanisms() {
  static const AttentionMechanisms all = all_words();
  return all;
}

std::string usage(const AttentionMechanism& word) {
  std::string numbers;
  for (const AttentionMechanism::Number& number : word.numbers)
    numbers += fmt::format("{}{}", numbers.empty() ? "=" : ":", number.name);
  const bool optional = !word.numbers.empty() && word.numbers.front().default_value.has_value();
  return optional ? fmt::format("{}[{}]", word.name, numbers) : fmt::format("{}{}", word.name, numbers);
}

void start_with_ones(Variable& parameter, uint64_t, const std::string&) { parameter.mutable_value().fill(1.0f); }

void start_as_score(Variable& parameter, uint64_t seed, const std::string& name) {
  normal(parameter, 1.0 / std::sqrt(static_cast<double>(parameter.dim(0))), seed, name);
}

}  // namespace qkv
