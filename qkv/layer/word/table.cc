#include "qkv/layer/word/table.h"

#include <cmath>

#include <fmt/format.h>

namespace qkv {
namespace {

AttentionWords all_words() {
  AttentionWords all = {{.name = "full",
                         .help = "every query sees every key, by scaled dot products: the default",
                         .role = AttentionWord::Role::full}};
  for (const AttentionWords& group :
       {mask_words(), projection_words(), score_words(), kernel_words(), modify_words(), normalize_words(),
        place_words(), position_words(), multi_token_words()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

std::span<const AttentionWord> attention_words() {
  static const AttentionWords all = all_words();
  return all;
}

std::string usage(const AttentionWord& word) {
  std::string numbers;
  for (const AttentionWord::Number& number : word.numbers)
    numbers += fmt::format("{}{}", numbers.empty() ? "=" : ":", number.name);
  const bool optional = !word.numbers.empty() && word.numbers.front().usual.has_value();
  return optional ? fmt::format("{}[{}]", word.name, numbers) : fmt::format("{}{}", word.name, numbers);
}

void start_with_ones(Variable& parameter, uint64_t, const std::string&) { parameter.mutable_value().fill(1.0f); }

void start_as_score(Variable& parameter, uint64_t seed, const std::string& name) {
  normal(parameter, 1.0 / std::sqrt(static_cast<double>(parameter.dim(0))), seed, name);
}

}  // namespace qkv
