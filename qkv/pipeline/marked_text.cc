#include "qkv/pipeline/marked_text.h"

#include <algorithm>
#include <string>

#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr std::string_view space = "\u2581";
// A character of the private use area, which no vocabulary has: nothing is merged with it.
constexpr std::string_view other = "\uf8ff";

using Ids = std::vector<int32_t>;

// How many tokens `other` takes at the end of a text: one unknown token, or its bytes.
size_t tokens_of_other(const Tokenizer& tokenizer) {
  const Ids ids = tokenizer.encode(other);
  const auto text = std::find_if(ids.rbegin(), ids.rend(), [&](int32_t id) { return tokenizer.is_text(id); });
  return static_cast<size_t>(text - ids.rbegin());
}

// SentencePiece makes one token of adjacent unknown characters: an unknown one next to `other` shares its token.
bool is_unknown(std::string_view character, const Tokenizer& tokenizer) {
  const Ids ids = tokenizer.encode(character);
  return !ids.empty() && ids.back() == Tokenizer::unk;
}

std::string_view first_character(std::string_view text) { return text.substr(0, utf8_first(text).bytes); }

std::string_view last_character(std::string_view text) {
  size_t at = text.empty() ? 0 : text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return text.substr(at);
}

// A part of a text that begins in its middle, or ends there, before a marker.
Ids encode_part(std::string_view part, const Tokenizer& tokenizer, bool begins, bool ends) {
  std::string framed(part);
  if (!begins) framed.insert(0, other);
  if (!ends) framed += other;
  Ids ids = tokenizer.encode(framed);
  size_t before = begins ? 0 : tokenizer.encode(other).size(), after = ends ? 0 : tokens_of_other(tokenizer);
  if (!begins && is_unknown(first_character(part), tokenizer)) --before;
  if (!ends && is_unknown(last_character(part), tokenizer)) --after;
  if (ids.size() < before + after) return {};
  ids.resize(ids.size() - after);
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(before));
  return ids;
}

}  // namespace

bool has_subwords(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.is_text(id) && tokenizer.token(id).starts_with(space) &&
        tokenizer.token(id).size() > space.size())
      return true;
  return false;
}

std::vector<int32_t> encode_marked(std::string_view text, const Tokenizer& tokenizer, const Marker& marker) {
  if (const std::optional<Ids> published = tokenizer.encode_masked(text, marker.marker)) return *published;
  const bool takes_space = has_subwords(tokenizer);
  Ids ids;
  for (bool begins = true;; begins = false) {
    const size_t at = text.find(marker.marker);
    const bool ends = at == text.npos;
    const Ids part = encode_part(text.substr(0, at), tokenizer, begins, ends);
    ids.insert(ids.end(), part.begin(), part.end());
    if (ends) return ids;
    if (takes_space && !part.empty() && tokenizer.token(part.back()) == space) ids.pop_back();
    ids.push_back(marker.id);
    text.remove_prefix(at + marker.marker.size());
  }
}

}  // namespace qkv
