#include "qkv/published/gguf/sentencepiece_writer.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace qkv {
namespace {

// The fields are those of SentencePiece's sentencepiece_model.proto.
class MessageWriter {
 public:
  MessageWriter& number(uint32_t field, uint64_t value) {
    varint(uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  MessageWriter& real(uint32_t field, float value) {
    varint(uint64_t{field} << 3 | 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>(bits >> 8 * i & 255));
    return *this;
  }
  MessageWriter& text(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<char>((value & 127) | 128));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

}  // namespace

std::string sentencepiece_model(const std::vector<Piece>& pieces, const SentencePieceSettings& settings) {
  MessageWriter model;
  for (const Piece& piece : pieces)
    model.text(1, MessageWriter()
                      .text(1, piece.text)
                      .real(2, piece.score)
                      .number(3, static_cast<uint32_t>(piece.type))
                      .bytes());
  const bool has_bytes = std::ranges::any_of(pieces, [](const Piece& p) { return p.type == PieceType::byte; });
  model.text(
      2, MessageWriter().number(3, settings.bpe ? 2 : 1).number(4, pieces.size()).number(35, has_bytes).bytes());
  model.text(3, MessageWriter()
                    .text(1, settings.rules.empty() ? "identity" : "rules")
                    .text(2, settings.rules)
                    .number(3, settings.add_dummy_prefix)
                    .number(4, settings.remove_extra_whitespaces)
                    .number(5, true)
                    .bytes());
  return model.bytes();
}

}  // namespace qkv
