#include "qkv/train/event_file.h"

#include <array>
#include <bit>

namespace qkv {
namespace {

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}();

template <class Unsigned>
std::string little_endian(Unsigned value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
  return bytes;
}

// TFRecord masks its sums, because a sum of bytes that contain their sum is weak.
std::string masked_crc(std::string_view bytes) { return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8u); }

// The encoding of protocol buffers: a key with the number of the field and the type on the wire, then the value.
enum WireType : uint32_t { varint = 0, fixed64 = 1, bytes_of_length = 2, fixed32 = 5 };

std::string varint_of(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}

std::string key(uint32_t field, WireType type) { return varint_of(field << 3 | type); }
std::string number_field(uint32_t field, double value) {
  return key(field, fixed64) + little_endian(std::bit_cast<uint64_t>(value));
}
std::string number_field(uint32_t field, float value) {
  return key(field, fixed32) + little_endian(std::bit_cast<uint32_t>(value));
}
std::string integer_field(uint32_t field, int64_t value) {
  return key(field, varint) + varint_of(static_cast<uint64_t>(value));
}
std::string text_field(uint32_t field, std::string_view text) {
  return key(field, bytes_of_length) + varint_of(text.size()) + std::string(text);
}

// The numbers of the fields in event.proto and summary.proto.
namespace event_field {
constexpr uint32_t wall_time = 1, step = 2, file_version = 3, summary = 5;
}
namespace summary_field {
constexpr uint32_t value = 1;
}
namespace value_field {
constexpr uint32_t tag = 1, simple_value = 2;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<uint8_t>(c)) & 255];
  return ~crc;
}

std::string tf_record(std::string_view bytes) {
  const std::string length = little_endian(static_cast<uint64_t>(bytes.size()));
  return length + masked_crc(length) + std::string(bytes) + masked_crc(bytes);
}

std::string event_file_start(double wall_time) {
  return tf_record(number_field(event_field::wall_time, wall_time) +
                   text_field(event_field::file_version, "brain.Event:2"));
}

std::string scalar_event(int64_t step, double wall_time, std::span<const EventScalar> scalars) {
  std::string summary;
  for (const EventScalar& s : scalars)
    summary +=
        text_field(summary_field::value, text_field(value_field::tag, s.tag) +
                                             number_field(value_field::simple_value, static_cast<float>(s.value)));
  return tf_record(number_field(event_field::wall_time, wall_time) + integer_field(event_field::step, step) +
                   text_field(event_field::summary, summary));
}

}  // namespace qkv
