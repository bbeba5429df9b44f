#include "qkv/layer/mechanism/table.h"

#include <cmath>

#include <fmt/format.h>

#include "qkv/layer/initialise.h"

namespace qkv {
namespace {

AttentionMechanisms all_mechanisms() {
  AttentionMechanisms all = {{.name = "full",
                              .help = "scaled dot product and softmax over all keys, without other mechanisms: "
                                      "the default (Vaswani et al., 2017)",
                              .role = AttentionMechanism::Role::full}};
  for (const AttentionMechanisms& group :
       {mask_mechanisms(), global_projection_mechanisms(), score_mechanisms(), kernel_mechanisms(),
        modify_mechanisms(), normalize_mechanisms(), local_window_mechanisms(), position_mechanisms(),
        multi_token_mechanisms()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

std::span<const AttentionMechanism> attention_mechanisms() {
  static const AttentionMechanisms all = all_mechanisms();
  return all;
}

std::string usage(const AttentionMechanism& mechanism) {
  std::string numbers;
  for (const AttentionMechanism::Number& number : mechanism.numbers)
    numbers += fmt::format("{}{}", numbers.empty() ? "=" : ":", number.name);
  const bool optional = !mechanism.numbers.empty() && mechanism.numbers.front().default_value.has_value();
  return optional ? fmt::format("{}[{}]", mechanism.name, numbers) : fmt::format("{}{}", mechanism.name, numbers);
}

Parameter score_vector(const Axis& width) {
  return Parameter({width}, normal(1.0 / std::sqrt(static_cast<double>(width.size))));
}

}  // namespace qkv
