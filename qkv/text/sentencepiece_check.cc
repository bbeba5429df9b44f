#include "qkv/text/sentencepiece_check.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include "qkv/base/names.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

using Wrong = std::optional<std::string>;

// One field of a protobuf message. number is 0 at the end of the message, -1 where the framing is broken.
struct Field {
  int64_t number = 0;
  uint64_t value = 0;           // of a varint or a fixed-size number
  std::string_view bytes = {};  // of text or a message inside
};

class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  Field next() {
    if (rest_.empty()) return {};
    uint64_t key, size;
    if (!varint(key) || key >> 32 || key >> 3 == 0) return {.number = -1};
    Field field{.number = static_cast<int64_t>(key >> 3)};
    switch (key & 7) {
      case 0: return varint(field.value) ? field : Field{.number = -1};
      case 1: return fixed(8, field.value) ? field : Field{.number = -1};
      case 5: return fixed(4, field.value) ? field : Field{.number = -1};
      case 2:
        if (!varint(size) || size > rest_.size()) return {.number = -1};
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return field;
      default: return {.number = -1};
    }
  }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool fixed(size_t bytes, uint64_t& value) {
    if (rest_.size() < bytes) return false;
    value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_;
};

const Wrong broken_framing = "its protobuf framing is broken";

// The numbers are those of SentencePiece's sentencepiece_model.proto.
Wrong piece_error(std::string_view bytes, std::unordered_set<std::string_view>& seen) {
  constexpr uint64_t types = 6;
  constexpr size_t longest = 4096;
  std::string_view piece;
  Message message(bytes);
  for (Field field; (field = message.next()).number != 0;) {
    if (field.number < 0) return broken_framing;
    if (field.number == 1) piece = field.bytes;
    if (field.number == 2 && !std::isfinite(std::bit_cast<float>(static_cast<uint32_t>(field.value))))
      return "a piece has a score that is not finite";
    if (field.number == 3 && (field.value < 1 || field.value > types))
      return fmt::format("a piece has the unknown type {}", field.value);
  }
  if (piece.empty()) return "a piece is empty";
  if (piece.size() > longest) return fmt::format("a piece has {} bytes", piece.size());
  if (utf8_error(piece) || piece.find('\0') != piece.npos) return "a piece is not text";
  if (!seen.insert(piece).second) return fmt::format("the piece {} occurs twice", quoted_name(piece));
  return {};
}

// <bytes of the double array, 32 bits> <double array> <texts, each ended by NUL>
Wrong rules_error(std::string_view rules) {
  if (rules.empty()) return {};
  constexpr auto wrong = "its normalisation rules are broken";
  const auto unit_at = [&](size_t i) {
    uint32_t unit;
    std::memcpy(&unit, rules.data() + 4 + 4 * i, 4);
    return unit;
  };
  uint32_t bytes;
  if (rules.size() < 4) return wrong;
  std::memcpy(&bytes, rules.data(), 4);
  if (bytes % 4 != 0 || bytes == 0 || bytes > rules.size() - 4) return wrong;
  const size_t units = bytes / 4;
  const std::string_view texts = rules.substr(4 + bytes);
  if (texts.empty() || texts.back() != '\0' || utf8_error(texts)) return wrong;
  for (size_t i = 0; i < units; ++i) {
    const uint32_t unit = unit_at(i);
    if (unit >> 31) {  // a value; only the unit that refers to it shows whether it is used, so all are checked
      if ((unit & 0x7fffffffu) >= texts.size()) return wrong;
    } else {  // an inner unit: its children are at i ^ offset ^ label, for labels of 0 to 255
      const size_t offset = static_cast<size_t>(unit >> 10) << ((unit & (1u << 9)) >> 6);
      if (((i ^ offset) | 0xff) >= units) return wrong;
      const bool has_value = unit >> 8 & 1;  // at i ^ offset, read as a value regardless of its own bits
      if (has_value && (unit_at(i ^ offset) & 0x7fffffffu) >= texts.size()) return wrong;
    }
  }
  return {};
}

Wrong normalizer_error(std::string_view bytes) {
  Message message(bytes);
  for (Field field; (field = message.next()).number != 0;) {
    if (field.number < 0) return broken_framing;
    if (field.number == 2)
      if (Wrong wrong = rules_error(field.bytes)) return wrong;
  }
  return {};
}

Wrong trainer_error(std::string_view bytes) {
  Message message(bytes);
  for (Field field; (field = message.next()).number != 0;) {
    if (field.number < 0) return broken_framing;
    if (field.number == 3 && (field.value < 1 || field.value > 4))
      return fmt::format("its model type {} is unknown", field.value);
  }
  return {};
}

}  // namespace

std::optional<std::string> sentencepiece_error(std::string_view model) {
  std::unordered_set<std::string_view> pieces;
  Message message(model);
  for (Field field; (field = message.next()).number != 0;) {
    Wrong wrong;
    switch (field.number) {
      case -1: return broken_framing;
      case 1: wrong = piece_error(field.bytes, pieces); break;
      case 2: wrong = trainer_error(field.bytes); break;
      case 3:
      case 5: wrong = normalizer_error(field.bytes); break;  // of encoding, of decoding
      default: break;
    }
    if (wrong) return wrong;
  }
  if (pieces.empty()) return "it has no pieces";
  return {};
}

std::string_view sentencepiece_rules(std::string_view model) {
  std::string_view rules;
  Message message(model);
  for (Field field; (field = message.next()).number > 0;) {
    if (field.number != 3) continue;
    Message normalizer(field.bytes);
    for (Field part; (part = normalizer.next()).number > 0;)
      if (part.number == 2) rules = part.bytes;
  }
  return rules;
}

}  // namespace qkv
