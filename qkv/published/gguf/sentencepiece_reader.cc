#include "qkv/published/gguf/sentencepiece_reader.h"

#include <cstring>

#include "qkv/base/error.h"

namespace qkv {
namespace {

// The fields of a protobuf message, one after another.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : rest_(message) {}

  uint64_t field = 0, number = 0;
  std::string_view text;  // of a text, a message, and the four bytes of a float

  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field = key >> 3;
    switch (key & 7) {
      case 0: number = varint(); break;
      case 1: text = take(8); break;
      case 2: text = take(varint()); break;
      case 5: text = take(4); break;
      default: refuse();
    }
    return true;
  }
  float real() const {
    float x = 0;
    if (text.size() != sizeof(x)) refuse();
    std::memcpy(&x, text.data(), sizeof(x));
    return x;
  }

 private:
  [[noreturn]] static void refuse() { fail<InputError>("SentencePiece", "the model is not a protobuf message"); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1).front());
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    refuse();
  }
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) refuse();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

Piece piece_of(std::string_view message) {
  Piece piece;
  for (MessageReader reader(message); reader.next();) {
    if (reader.field == 1) piece.text = reader.text;
    if (reader.field == 2) piece.score = reader.real();
    if (reader.field == 3) piece.type = PieceType{static_cast<uint32_t>(reader.number)};
  }
  return piece;
}

}  // namespace

SentencePieceFile read_sentencepiece(std::string_view bytes) {
  constexpr uint64_t unigram = 1, bpe = 2;
  SentencePieceFile out;
  out.settings.remove_extra_whitespaces = true;  // the default of the format
  for (MessageReader reader(bytes); reader.next();) {
    if (reader.field == 1) out.pieces.push_back(piece_of(reader.text));
    if (reader.field == 2) {
      for (MessageReader trainer(reader.text); trainer.next();) {
        if (trainer.field != 3) continue;
        out.settings.bpe = trainer.number == bpe;
        out.is_subword = trainer.number == unigram || trainer.number == bpe;
      }
    }
    if (reader.field == 3) {
      for (MessageReader rules(reader.text); rules.next();) {
        if (rules.field == 2) out.settings.rules = rules.text;
        if (rules.field == 3) out.settings.add_dummy_prefix = rules.number != 0;
        if (rules.field == 4) out.settings.remove_extra_whitespaces = rules.number != 0;
      }
    }
  }
  return out;
}

}  // namespace qkv
