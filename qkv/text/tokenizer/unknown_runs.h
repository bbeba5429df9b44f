// Shortens long runs of characters that a SentencePiece model does not know: the library takes quadratic time in the
// length of such a run, which is one unknown token of any length.
//
//     const UnknownRuns runs(processor, sentencepiece_rules(bytes), /*min_characters=*/64);
//     processor.Encode(runs.shortened(text), &ids);                            // the ids of the text
//
// A character is unknown if it is in no piece and normalisation does not change it in its place. At least twice
// `min_characters` of a run remain, more than any unknown piece that is looked up elsewhere has. A model with byte
// fallback knows all characters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "qkv/text/tokenizer/precompiled_map.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace qkv {

class UnknownRuns {
 public:
  UnknownRuns(const sentencepiece::SentencePieceProcessor& processor, std::string_view rules,
              size_t min_characters);

  std::string shortened(std::string_view text) const;

 private:
  bool is_changed(std::string_view text) const;
  bool are_joined(std::string_view head, std::string_view tail) const;

  std::unordered_set<char32_t> known_;
  std::optional<PrecompiledMap> map_;
  size_t min_characters_;
  bool has_bytes_ = false;
};

}  // namespace qkv
