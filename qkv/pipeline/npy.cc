#include "qkv/pipeline/npy.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// Magic, version and header, which is padded so that the data begin at a multiple of 64 bytes.
std::string npy_header(const std::string& type, const Shape& shape) {
  constexpr size_t before = 10, alignment = 64;  // magic, version, length of the header
  std::string sizes;
  for (int axis = 0; axis < shape.rank(); ++axis)
    sizes += fmt::format("{}{}", axis > 0 ? ", " : "", shape.dim(axis));
  if (shape.rank() == 1) sizes += ',';
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, sizes);
  header.append(alignment - (before + header.size() + 1) % alignment, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  return file + header;
}

}  // namespace

std::string npy_file(std::span<const float> numbers, const Shape& shape) {
  require(shape.numel() == std::ssize(numbers), "npy_file", "there are {} numbers for the shape {}", numbers.size(),
          to_string(shape));
  std::string file = npy_header("<f4", shape);
  file.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  return file;
}

std::string npy_file(std::span<const std::string> texts) {
  constexpr char32_t replacement = 0xFFFD;
  std::vector<std::u32string> points;
  size_t longest = 1;
  for (const std::string& text : texts) {
    points.push_back(utf8_decode(text));
    std::replace_if(
        points.back().begin(), points.back().end(), [](char32_t p) { return p >= invalid_byte; }, replacement);
    longest = std::max(longest, points.back().size());
  }
  std::string file = npy_header(fmt::format("<U{}", longest), {std::ssize(texts)});
  for (std::u32string& text : points) {
    text.resize(longest);
    file.append(reinterpret_cast<const char*>(text.data()), longest * sizeof(char32_t));
  }
  return file;
}

}  // namespace qkv
