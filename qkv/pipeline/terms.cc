#include "qkv/pipeline/terms.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/text/lines.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// Whether the character is part of a word of a script that separates words.
bool is_of_word(char32_t point) {
  constexpr char32_t first_of_east_asia = 0x2e80;
  return point < first_of_east_asia && !is_space(point) && !is_punctuation(point) && !is_symbol(point);
}

char32_t last_point(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (text[begin] & 0xc0) == 0x80) --begin;
  return utf8_decode(text.substr(begin)).front();
}

char32_t first_point(std::string_view text) { return utf8_decode(text.substr(0, 4)).front(); }

bool is_word_within(std::string_view text, size_t begin, size_t end) {
  const bool joined_before =
      begin > 0 && is_of_word(last_point(text.substr(0, begin))) && is_of_word(first_point(text.substr(begin)));
  const bool joined_after =
      end < text.size() && is_of_word(last_point(text.substr(0, end))) && is_of_word(first_point(text.substr(end)));
  return !joined_before && !joined_after;
}

std::vector<std::string> sources_of(const std::vector<Term>& terms) {
  std::vector<std::string> sources;
  sources.reserve(terms.size());
  for (const Term& term : terms) sources.push_back(term.source);
  return sources;
}

}  // namespace

Terminology::Terminology(std::vector<Term> terms) : terms_(std::move(terms)) {
  for (const Term& term : terms_)
    require<UsageError>(!is_blank(term.source) && !is_blank(term.target), "terms",
                        "a term needs a source and a translation, got {} and {}", quoted_name(term.source),
                        quoted_name(term.target));
  finder_ = StringFinder(sources_of(terms_));
}

// The longest term that begins there and is not part of a word; `longest`: the index of the longest string.
const Term* Terminology::term_at(std::string_view sentence, size_t at, int32_t longest) const {
  const auto fits = [&](const Term& term) { return is_word_within(sentence, at, at + term.source.size()); };
  const Term* found = &terms_[static_cast<size_t>(longest)];
  if (fits(*found)) return found;
  found = nullptr;
  for (const Term& term : terms_)
    if (sentence.substr(at).starts_with(term.source) && fits(term) &&
        (!found || term.source.size() >= found->source.size()))
      found = &term;
  return found;
}

std::vector<std::string> Terminology::translations(std::string_view sentence) const {
  std::vector<std::string> found;
  const std::vector<int32_t> longest = finder_.longest(sentence);
  for (size_t at = 0; at < sentence.size();) {
    const Term* term = longest[at] < 0 ? nullptr : term_at(sentence, at, longest[at]);
    if (term) found.push_back(term->target);
    at += term ? term->source.size() : 1;
  }
  return found;
}

std::vector<Term> read_terms(const std::string& path) {
  std::vector<Term> terms;
  LineReader lines(path);
  for (std::string line; lines.next(line);) {
    if (is_blank(line)) continue;
    const size_t tab = line.find('\t');
    const Term term = {line.substr(0, tab), tab == line.npos ? "" : line.substr(tab + 1)};
    require<InputError>(
        !is_blank(term.source) && !is_blank(term.target) && term.target.find('\t') == term.target.npos,
        lines.where(), "a line of terms must be SOURCE TAB TRANSLATION, got {}", quoted_name(line));
    terms.push_back(term);
  }
  require<InputError>(!terms.empty(), path, "there are no terms in this file");
  return terms;
}

std::vector<int32_t> encode_within(const Tokenizer& tokenizer, std::string_view phrase) {
  const std::string word = "a";
  const std::vector<int32_t> before = tokenizer.encode(word),
                             all = tokenizer.encode(word + " " + std::string(phrase));
  if (all.size() > before.size() && std::equal(before.begin(), before.end(), all.begin()))
    return {all.begin() + std::ssize(before), all.end()};
  return tokenizer.encode(phrase);
}

}  // namespace qkv
