// The normalisation of a tokenizer, as tokenizer.json describes it: NFC, NFD, NFKC, NFKD, Lowercase, StripAccents,
// Strip, Replace, Prepend, BertNormalizer, Precompiled, Nmt, ByteLevel and sequences of them.
//
//     const TextNormalizer normalizer = read_normalizer(fields);
//     normalizer->apply(text);                                              // an AlignedText
//
// Errors: InputError for other types and for values of the wrong type.
#pragma once

#include <memory>

#include "qkv/text/tokenizer/aligned_text.h"

namespace qkv {

class JsonFields;

class TextNormalizer {
 public:
  virtual ~TextNormalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
};
using TextNormalizerPtr = std::shared_ptr<const TextNormalizer>;

TextNormalizerPtr read_normalizer(const JsonFields& fields);

}  // namespace qkv
