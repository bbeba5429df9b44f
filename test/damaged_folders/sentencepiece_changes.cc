// SentencePiece's model file is a message of protocol buffers (sentencepiece_model.proto).
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "test/damaged_folders/change.h"
#include "test/damaged_folders/little_endian.h"
#include "test/damaged_folders/protobuf.h"

namespace qkv::test {
namespace {

using Fields = std::vector<ProtobufField>;

constexpr uint64_t pieces_field = 1, normalizer_field = 3;
constexpr uint64_t text_of_piece = 1, score_of_piece = 2, type_of_piece = 3, map_of_normalizer = 2;

// One of the fields with this number, null if there is none.
ProtobufField* one_with_number(Fields& fields, uint64_t number, Random& random) {
  std::vector<ProtobufField*> found;
  for (ProtobufField& field : fields)
    if (field.number == number) found.push_back(&field);
  return found.empty() ? nullptr : one_of(found, random);
}

ProtobufField& added(Fields& fields, uint64_t number, uint64_t type, Random& random) {
  if (ProtobufField* field = one_with_number(fields, number, random)) return *field;
  return fields.emplace_back(ProtobufField{.number = number, .type = type, .value = 0, .bytes = {}});
}

std::string change_text(Fields& piece, Random& random) {
  using namespace std::string_view_literals;
  constexpr std::array texts = {""sv,         "\xff"sv,  "a\0b"sv, "\xe2\x96\x81"sv,
                                "\xe2\x96"sv, "<unk>"sv, "\n"sv,   "\xe2\x96\x81the"sv,
                                "<0x0A>"sv,   "<0xZZ>"sv};
  std::string& text = added(piece, text_of_piece, ProtobufField::text, random).bytes;
  const std::string was = text;
  text = random.below(8) == 0 ? std::string(5000, 'a') : std::string(one_of(texts, random));
  return fmt::format("of '{}' {} bytes", was, text.size());
}

std::string change_score(Fields& piece, Random& random) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float score = one_of(std::array{0.0f, 1e30f, -1e30f, infinity, -infinity, std::nanf("")}, random);
  added(piece, score_of_piece, ProtobufField::fixed32, random).bytes = bytes_of(score);
  return fmt::format("the score {}", score);
}

std::string change_type(Fields& piece, Random& random) {
  const auto type = one_of(std::array<uint64_t, 10>{0, 1, 2, 3, 4, 5, 6, 7, 100, UINT64_MAX}, random);
  added(piece, type_of_piece, ProtobufField::varint, random).value = type;
  return fmt::format("the type {}", type);
}

std::string change_piece(Fields& model, Random& random) {
  ProtobufField* field = one_with_number(model, pieces_field, random);
  if (field == nullptr) return "";
  auto piece = protobuf_fields(field->bytes);
  if (!piece) return "";
  const std::string what =
      one_of(std::array<std::string (*)(Fields&, Random&), 3>{change_text, change_score, change_type}, random)(
          *piece, random);
  field->bytes = protobuf_bytes(*piece);
  return "a piece has " + what;
}

std::string change_list(Fields& model, Random& random) {
  const size_t at = below(model.size(), random);
  const auto place = model.begin() + static_cast<std::ptrdiff_t>(at);
  if (random.below(2) == 0) {
    model.erase(place);
    return fmt::format("without field {}", at);
  }
  const ProtobufField field = *place;
  const size_t count = random.below(2) == 0 ? 1 : 500;
  model.insert(place, count, field);
  return fmt::format("{} times field {}", count + 1, at);
}

// A setting of how it was trained or of how it normalises, or the character map.
std::string change_setting(Fields& model, Random& random) {
  std::vector<ProtobufField*> specs;
  for (ProtobufField& field : model)
    if (field.number != pieces_field && field.type == ProtobufField::text) specs.push_back(&field);
  if (specs.empty()) return "";
  ProtobufField& spec = *one_of(specs, random);
  auto settings = protobuf_fields(spec.bytes);
  if (!settings || settings->empty()) return "";
  ProtobufField& setting = (*settings)[below(settings->size(), random)];
  std::string what = fmt::format("setting {} of {}", setting.number, spec.number);
  if (spec.number == normalizer_field && setting.number == map_of_normalizer) {
    what = change_character_map(setting.bytes, random);
  } else if (setting.type == ProtobufField::varint) {
    setting.value = one_of(std::array<uint64_t, 7>{0, 1, 2, 1000, INT32_MAX, UINT32_MAX, UINT64_MAX}, random);
    what += fmt::format(" is {}", setting.value);
  } else {
    what += ": " + flip_bits(setting.bytes, random);
  }
  spec.bytes = protobuf_bytes(*settings);
  return what;
}

}  // namespace

std::string change_pieces(std::string& bytes, Random& random) {
  auto model = protobuf_fields(bytes);
  if (!model || model->empty()) return "";
  constexpr std::array<std::string (*)(Fields&, Random&), 4> kinds = {change_piece, change_piece, change_list,
                                                                      change_setting};
  const std::string what = one_of(kinds, random)(*model, random);
  bytes = protobuf_bytes(*model);
  return what;
}

// Its tree, behind the size of the tree, and its strings, which the leaves of the tree refer to.
std::string change_character_map(std::string& bytes, Random& random) {
  if (bytes.size() < 8) return "";
  if (random.below(8) == 0) return "character map: " + change_size(bytes, random);
  const size_t tree = 4, strings = tree + number_at<uint32_t>(bytes, 0);
  const size_t begin = random.below(3) == 0 || strings >= bytes.size() ? tree : strings;
  const uint64_t count = 1 + random.below(50);
  for (uint64_t n = 0; n < count; ++n)
    bytes[begin + below(bytes.size() - begin, random)] = static_cast<char>(random.below(256));
  if (random.below(4) != 0) bytes.back() = '\0';
  return fmt::format("character map: {} bytes behind byte {}", count, begin);
}

}  // namespace qkv::test
