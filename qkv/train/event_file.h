// The event files of TensorBoard: scalars by step. A file is a sequence of TFRecords, each a message Event of
// TensorFlow's event.proto with a CRC-32C of its length and of its bytes.
//
//     file << event_file_start(wall_time);
//     file << scalar_event(100, wall_time, {{"train/loss", 3.2}, {"train/learning_rate", 1e-3}});
//
// wall_time is in seconds since 1970. TensorBoard finds files with "tfevents" in their names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

struct EventScalar {
  std::string tag;
  double value = 0;
};

std::string event_file_start(double wall_time);  // the record that names the version of the format
std::string scalar_event(int64_t step, double wall_time, std::span<const EventScalar> scalars);

uint32_t crc32c(std::string_view bytes);  // Castagnoli's polynomial
std::string tf_record(std::string_view bytes);

}  // namespace qkv
