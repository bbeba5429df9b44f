// Terminology: terms of the source language with the translations that they must have.
//
//     const Terminology terms({{"Transformer", "Transformer"}, {"attention head", "Aufmerksamkeitskopf"}});
//     terms.translations("An attention head.")                  // {"Aufmerksamkeitskopf"}
//
// A term is found where the sentence has exactly its characters, in the same case, and no letter or number before
// or after them; in scripts that do not separate words, such as Chinese, anywhere. Matches do not overlap: the
// leftmost is taken and, of several that begin there, the longest. Errors: UsageError for a term without a source
// or a translation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/text/tokenizer.h"
#include "qkv/text/tokenizer/string_finder.h"

namespace qkv {

struct Term {
  std::string source, target;
};

class Terminology {
 public:
  explicit Terminology(std::vector<Term> terms);
  std::vector<std::string> translations(std::string_view sentence) const;  // once for every occurrence

 private:
  const Term* term_at(std::string_view sentence, size_t at, int32_t longest) const;

  std::vector<Term> terms_;
  StringFinder finder_;
};

// SOURCE TAB TRANSLATION on each line; blank lines are skipped. InputError, with its number, for any other line.
std::vector<Term> read_terms(const std::string& path);

// The tokens that a phrase has within a text, after a word and a space.
std::vector<int32_t> encode_within(const Tokenizer& tokenizer, std::string_view phrase);

}  // namespace qkv
