// A text that is changed step by step, and where each byte of it comes from in the original text.
//
//     AlignedText text("Caf\xc3\xa9", /*offset=*/0);
//     text.rewrite([](AlignedText::Writer& out) { out.keep(3); out.replace(2, "e"); });        // "Cafe"
//     text.origin(3, 4)                                                                        // bytes 3 to 5
//
// Errors: TextError where rewriting makes a text longer than 64 times its length and 4 KiB, as malicious rules would.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/text/text_error.h"

namespace qkv {

// Bytes [begin, end).
struct TextRange {
  uint32_t begin = 0, end = 0;
  bool operator==(const TextRange&) const = default;
};

class AlignedText {
 public:
  // offset: of the first byte in the original text.
  AlignedText(std::string_view text, size_t offset) : bytes_(text) {
    origin_.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i)
      origin_.push_back({static_cast<uint32_t>(offset + i), static_cast<uint32_t>(offset + i + 1)});
    start_ = static_cast<uint32_t>(offset);
    longest_ = std::min<size_t>(64 * text.size() + 4096, UINT32_MAX);
  }

  const std::string& bytes() const { return bytes_; }
  // Some bytes, not none, by themselves.
  AlignedText slice(TextRange range) const {
    AlignedText out("", origin(range.begin, range.begin).begin);
    out.bytes_ = part(range);
    out.origin_.assign(origin_.begin() + range.begin, origin_.begin() + range.end);
    out.longest_ =
        std::min<size_t>(longest_ * out.bytes_.size() / bytes_.size() + out.bytes_.size() + 4096, UINT32_MAX);
    return out;
  }
  std::string_view part(TextRange range) const {
    return std::string_view(bytes_).substr(range.begin, range.end - range.begin);
  }
  // The bytes of the original text that these come from.
  TextRange origin(uint32_t begin, uint32_t end) const {
    if (begin >= end) {
      const uint32_t at = begin < origin_.size() ? origin_[begin].begin
                          : origin_.empty()      ? start_
                                                 : origin_.back().end;
      return {at, at};
    }
    TextRange all = origin_[begin];
    for (uint32_t i = begin + 1; i < end; ++i)
      all = {std::min(all.begin, origin_[i].begin), std::max(all.end, origin_[i].end)};
    return all;
  }

  // Writes the new text from the old one, from its beginning to its end; the rest is kept.
  class Writer {
   public:
    explicit Writer(AlignedText& text) : from_(text) { bytes_.reserve(text.bytes_.size()); }
    std::string_view rest() const { return std::string_view(from_.bytes_).substr(at_); }
    size_t position() const { return at_; }           // in the old text
    size_t written() const { return bytes_.size(); }  // in the new one
    void keep(size_t bytes) {
      bytes_.append(from_.bytes_, at_, bytes);
      origin_.insert(origin_.end(), from_.origin_.begin() + static_cast<ptrdiff_t>(at_),
                     from_.origin_.begin() + static_cast<ptrdiff_t>(at_ + bytes));
      at_ += bytes;
    }
    void skip(size_t bytes) { at_ += bytes; }
    // Replaces that many bytes; 0 bytes make an insertion.
    void replace(size_t bytes, std::string_view by) {
      const TextRange origin = from_.origin(static_cast<uint32_t>(at_), static_cast<uint32_t>(at_ + bytes));
      check(bytes_.size() + by.size());
      bytes_.append(by);
      origin_.insert(origin_.end(), by.size(), origin);
      at_ += bytes;
    }
    void insert(std::string_view text) { replace(0, text); }

   private:
    friend class AlignedText;
    void check(size_t bytes) const {
      require<TextError>(bytes <= from_.longest_, "tokenizer", "normalisation makes more than {} bytes of a text",
                         from_.longest_);
    }
    AlignedText& from_;
    size_t at_ = 0;
    std::string bytes_;
    std::vector<TextRange> origin_;
  };
  template <class Function>
  void rewrite(Function function) {
    Writer writer(*this);
    function(writer);
    writer.keep(writer.rest().size());
    writer.check(writer.written());
    bytes_ = std::move(writer.bytes_);
    origin_ = std::move(writer.origin_);
  }

 private:
  std::string bytes_;
  std::vector<TextRange> origin_;  // of every byte
  uint32_t start_ = 0;
  size_t longest_ = 0;  // in bytes
};

}  // namespace qkv
