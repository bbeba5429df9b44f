// A head that attends to separators: [SEP], </s>, full stops, commas. Like the first token they take the weight of queries that
// need nothing (Clark et al., "What Does BERT Look At?", 2019).
//
//     strength = mean over t of the sum over separators s of w[t, s]         none: a text without separators
//
// A separator is punctuation or a special token; the first token of a text is not counted (first_token.h).
#pragma once

#include <optional>
#include <string_view>

#include "qkv/interpret/head_weights.h"

namespace qkv::pattern {

// "[SEP]", "</s>", "<|endoftext|>", ".", and "," with the mark of a space before it.
bool is_separator(std::string_view token);

std::optional<double> separator(const HeadWeights& head);

}  // namespace qkv::pattern
