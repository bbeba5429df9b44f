// From tokens back to text, as in tokenizer.json: ByteLevel, WordPiece, Metaspace, BPEDecoder, ByteFallback, Fuse,
// Strip, Replace and sequences of them.
//
//     read_token_decoder(fields)->apply(tokens);                      // a list of strings, which are joined afterwards
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace qkv {

class JsonFields;

class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};
using TokenDecoderPtr = std::shared_ptr<const TokenDecoder>;

TokenDecoderPtr read_token_decoder(const JsonFields& fields);

// Bytes that are not UTF-8 as U+FFFD, one for each maximal part of a character, as in Unicode's recommendation.
std::string valid_utf8(std::string_view text);

}  // namespace qkv
