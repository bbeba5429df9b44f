// Token ids of a text in which a marker stands for single tokens.
//
//     std::vector<int32_t> ids = encode_marked("I am [MASK].", tokenizer, {.marker = "[MASK]", .id = mask});
//
// The parts between the markers are tokenized as in the middle of a text: the space that SentencePiece puts before a
// text is left out of all parts but the first, unless it is in the text. If tokens contain their leading space, as
// subwords do, the space before a marker belongs to the token that it stands for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "qkv/text/tokenizer.h"

namespace qkv {

struct Marker {
  std::string_view marker;  // not empty
  int32_t id = 0;
};
std::vector<int32_t> encode_marked(std::string_view text, const Tokenizer& tokenizer, const Marker& marker);

// Whether some token has a space and more.
bool has_subwords(const Tokenizer& tokenizer);

}  // namespace qkv
