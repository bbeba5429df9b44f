#include "qkv/text/tokenizer/unknown_runs.h"

#include <algorithm>

#include <sentencepiece_processor.h>

#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr char32_t replacement = 0xfffd;  // the library's replacement of a byte that is not UTF-8
constexpr char32_t space_of_pieces = 0x2581;

}  // namespace

UnknownRuns::UnknownRuns(const sentencepiece::SentencePieceProcessor& processor, std::string_view rules,
                         size_t min_characters)
    : known_{U' ', space_of_pieces}, min_characters_(min_characters) {
  if (!rules.empty()) map_.emplace(rules, "SentencePiece");
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    has_bytes_ = has_bytes_ || processor.IsByte(id);
    if (processor.IsControl(id) || processor.IsUnknown(id)) continue;  // never text
    for (const char32_t c : utf8_decode(processor.IdToPiece(id))) known_.insert(c);
  }
}

bool UnknownRuns::is_changed(std::string_view text) const { return map_ && map_->find(text); }

// Whether normalisation changes the characters on both sides of the cut.
bool UnknownRuns::are_joined(std::string_view head, std::string_view tail) const {
  constexpr size_t longest = 32;  // of the strings in the rules
  const std::string both =
      std::string(head.substr(head.size() - std::min(head.size(), longest))).append(tail.substr(0, longest));
  for (size_t at = 0; at < std::min(head.size(), longest); ++at)
    if (is_changed(std::string_view(both).substr(at))) return true;
  return false;
}

std::string UnknownRuns::shortened(std::string_view text) const {
  if (has_bytes_ || text.size() < 2 * min_characters_) return std::string(text);
  std::string out;
  std::vector<size_t> run;  // where its characters begin
  const auto end_run = [&](size_t end) {
    if (run.empty()) return;
    const std::string_view whole = text.substr(run.front(), end - run.front());
    std::string_view head = whole, tail;
    if (run.size() > 2 * min_characters_) {
      head = whole.substr(0, run[min_characters_] - run.front());
      tail = whole.substr(run[run.size() - min_characters_] - run.front());
      if (are_joined(head, tail)) head = whole, tail = "";
    }
    out.append(head).append(tail);
    run.clear();
  };
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const CodePoint c = utf8_first(text.substr(at));
    next = at + std::max<size_t>(c.bytes, 1);
    if (!known_.contains(c.bytes > 0 ? c.value : replacement) && !is_changed(text.substr(at))) {
      run.push_back(at);
      continue;
    }
    end_run(at);
    out += text.substr(at, next - at);
  }
  end_run(text.size());
  return out;
}

}  // namespace qkv
