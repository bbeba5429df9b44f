// For tests: reads event files.
#pragma once

#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/train/event_file.h"

namespace qkv {

struct ReadEvent {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
};

inline uint64_t take_little_endian(std::string_view& bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes.at(i))) << (8 * i);
  bytes.remove_prefix(size);
  return value;
}

inline uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.at(0));
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

// Calls each(field, number, text) for the fields of a message.
template <class Each>
void read_message(std::string_view bytes, Each each) {
  while (!bytes.empty()) {
    const uint64_t key = take_varint(bytes);
    const auto field = static_cast<int>(key >> 3);
    switch (key & 7) {
      case 0: each(field, take_varint(bytes), std::string_view()); break;
      case 1: each(field, take_little_endian(bytes, 8), std::string_view()); break;
      case 5: each(field, take_little_endian(bytes, 4), std::string_view()); break;
      default: {
        const size_t size = take_varint(bytes);
        each(field, uint64_t{0}, bytes.substr(0, size));
        bytes.remove_prefix(size);
      }
    }
  }
}

inline uint32_t masked(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

inline ReadEvent read_event(std::string_view bytes) {
  ReadEvent event;
  read_message(bytes, [&](int field, uint64_t number, std::string_view text) {
    if (field == 1) event.wall_time = std::bit_cast<double>(number);
    if (field == 2) event.step = static_cast<int64_t>(number);
    if (field == 3) event.version = text;
    if (field != 5) return;
    read_message(text, [&](int, uint64_t, std::string_view value) {
      std::string tag;
      float scalar = 0;
      read_message(value, [&](int f, uint64_t n, std::string_view t) {
        if (f == 1) tag = t;
        if (f == 2) scalar = std::bit_cast<float>(static_cast<uint32_t>(n));
      });
      event.scalars[tag] = scalar;
    });
  });
  return event;
}

// Expects correct sums of all records.
inline std::vector<ReadEvent> read_events(std::string_view file) {
  std::vector<ReadEvent> events;
  while (!file.empty()) {
    const std::string_view length = file.substr(0, 8);
    const size_t size = take_little_endian(file, 8);
    EXPECT_EQ(take_little_endian(file, 4), masked(length));
    const std::string_view record = file.substr(0, size);
    file.remove_prefix(size);
    EXPECT_EQ(take_little_endian(file, 4), masked(record));
    events.push_back(read_event(record));
  }
  return events;
}

}  // namespace qkv
