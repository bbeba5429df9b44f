// The bits of results, to compare them with those of another processor (script/test-aarch64).
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>

#include <fmt/format.h>

namespace qkv::test {

// Adds a line to the file that the environment names: what was computed, and a sum over its bits (FNV-1a).
inline void write_checksum(const std::string& what, std::span<const float> results) {
  const char* const path = std::getenv("QKV_CHECKSUMS");
  if (path == nullptr) return;
  uint64_t sum = 14695981039346656037u;
  for (const float x : results) sum = (sum ^ std::bit_cast<uint32_t>(x)) * 1099511628211u;
  std::ofstream(path, std::ios::app) << fmt::format("{:016x} {} numbers of {}\n", sum, results.size(), what);
}

}  // namespace qkv::test
