#include "qkv/text/tokenizer/unknown_runs.h"

#include <sentencepiece_processor.h>

#include "qkv/text/tokenizer/characters.h"
#include "qkv/text/utf8.h"

namespace qkv {

UnknownRuns::UnknownRuns(const sentencepiece::SentencePieceProcessor& processor, std::string_view rules,
                         size_t min_characters)
    : min_characters_(min_characters) {
  if (!rules.empty()) map_.emplace(rules, "SentencePiece");
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    has_bytes_ = has_bytes_ || processor.IsByte(id);
    for (const char32_t c : utf8_decode(processor.IdToPiece(id))) known_.insert(c);
  }
}

bool UnknownRuns::is_unknown(std::string_view character, char32_t value) const {
  return !known_.contains(value) && !is_white_space(value) && !(map_ && map_->changes(character));
}

std::string UnknownRuns::shortened(std::string_view text) const {
  if (has_bytes_ || text.size() < 4 * min_characters_) return std::string(text);
  std::string out;
  const auto copy = [&](size_t begin, size_t end) { out += text.substr(begin, end - begin); };
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;  // of a run, or of a character that is known
    size_t characters = 0, head = at;
    while (at < text.size()) {
      const CodePoint c = utf8_first(text.substr(at));
      if (c.bytes == 0 || !is_unknown(text.substr(at, c.bytes), c.value)) break;
      at += c.bytes;
      if (++characters == min_characters_) head = at;
    }
    if (characters == 0) {
      at += std::max<size_t>(utf8_first(text.substr(at)).bytes, 1);
      copy(begin, at);
    } else if (characters <= 2 * min_characters_) {
      copy(begin, at);
    } else {
      copy(begin, head);
      size_t tail = at;
      for (size_t n = 0; n < min_characters_; ++n)
        while ((static_cast<unsigned char>(text[--tail]) & 0xc0) == 0x80) continue;
      copy(tail, at);
    }
  }
  return out;
}

}  // namespace qkv
