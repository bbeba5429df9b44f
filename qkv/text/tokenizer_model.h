// The implementation of a Tokenizer: a SentencePiece model (tokenizer.cc), or the tokenizer of a published model
// (published/model_folder.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/text/tokenizer.h"

namespace qkv {

class TokenizerModel {
 public:
  virtual ~TokenizerModel() = default;

  virtual std::vector<int32_t> encode(std::string_view text, const TokenizeOptions& options) const = 0;
  // ids: below size()
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  virtual const std::string& token(int32_t id) const = 0;
  virtual bool is_text(int32_t id) const = 0;
  virtual bool is_added(int32_t id) const = 0;
  virtual float score(int32_t id) const = 0;
  virtual int64_t size() const = 0;
  virtual std::optional<int32_t> id_of(std::string_view token) const = 0;
  virtual const std::string& serialized() const = 0;
  virtual const SpecialTokens& special() const = 0;
  // The tokens of a text with the mask in place of each `marker`; none: the model has no mask of its own.
  virtual std::optional<std::vector<int32_t>> encode_masked(std::string_view /*text*/,
                                                            std::string_view /*marker*/) const {
    return {};
  }
};

}  // namespace qkv
