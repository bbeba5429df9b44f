// Rows of numbers as a NumPy array of float32, in the format of numpy.save() (version 1.0).
//
//     out.print(npy_file(numbers, /*columns=*/512));
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

namespace qkv::cli {

// The header is padded so that the numbers begin at a multiple of 64 bytes.
inline std::string npy_file(std::span<const float> numbers, int64_t columns) {
  static_assert(std::endian::native == std::endian::little);
  constexpr size_t before = 10, alignment = 64;  // magic, version, length of the header
  const int64_t rows = std::ssize(numbers) / columns;
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  header.append(alignment - (before + header.size() + 1) % alignment, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  file += header;
  file.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  return file;
}

}  // namespace qkv::cli
