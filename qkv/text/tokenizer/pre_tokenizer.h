// The pre-tokenisation of a tokenizer, which cuts a text into the pieces that its model sees one by one, as in
// tokenizer.json: ByteLevel, Metaspace, Split, Punctuation, Digits, Whitespace, WhitespaceSplit, BertPreTokenizer,
// CharDelimiterSplit and sequences of them.
//
//     PreTokenized pieces(AlignedText("Hello you", 0));
//     read_pre_tokenizer(fields)->apply(pieces);
//     for (TextRange piece : pieces.pieces()) use(pieces.text().part(piece));
//
// Errors: InputError for other types and for values of the wrong type.
#pragma once

#include <functional>
#include <memory>

#include "qkv/text/tokenizer/aligned_text.h"

namespace qkv {

class JsonFields;

enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

class PreTokenized {
 public:
  explicit PreTokenized(AlignedText text);

  const AlignedText& text() const { return text_; }
  const std::vector<TextRange>& pieces() const { return pieces_; }  // none is empty

  // Cuts every piece at its matches; matches(piece) gives their ranges in it, ascending.
  using Matches = std::vector<TextRange>;
  void split(const std::function<void(std::string_view piece, Matches& matches)>& matches, SplitBehavior behavior,
             bool inverted = false);
  // Rewrites every piece: change(writer, bytes of the piece, whether it begins the original text).
  void rewrite(const std::function<void(AlignedText::Writer&, size_t bytes, bool is_first)>& change);

 private:
  AlignedText text_;
  std::vector<TextRange> pieces_;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(PreTokenized& text) const = 0;
};
using PreTokenizerPtr = std::shared_ptr<const PreTokenizer>;

PreTokenizerPtr read_pre_tokenizer(const JsonFields& fields);

// How Metaspace writes the space before a word: before every piece, the first one of the text, or none.
enum class PrependScheme { always, first, never };
// A text of one code point.
std::string read_character(const JsonFields& fields, const char* key, const std::string& absent);
PrependScheme read_prepend_scheme(const JsonFields& fields);

}  // namespace qkv
