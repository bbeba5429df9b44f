#include "qkv/picture/palette_png.h"

#include "qkv/base/checksum.h"
#include "qkv/base/error.h"
#include "qkv/picture/packed_weights.h"

namespace qkv {
namespace {

std::string big_endian(uint32_t number) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(number >> shift & 255);
  return out;
}

std::string png_chunk(const std::string& type, const std::string& bytes) {
  return big_endian(static_cast<uint32_t>(bytes.size())) + type + bytes + big_endian(crc32(type + bytes));
}

}  // namespace

std::string palette_png(const std::vector<uint8_t>& pixels, int64_t width, const std::vector<Color>& palette) {
  require(width > 0 && !pixels.empty() && std::ssize(pixels) % width == 0, "palette_png",
          "{} pixels are not lines of {}", pixels.size(), width);
  require(palette.size() <= 256, "palette_png", "{} colors, at most 256 are possible", palette.size());
  std::string colors, lines;
  for (const Color color : palette)
    for (const uint8_t channel : {color.red, color.green, color.blue}) colors += static_cast<char>(channel);
  const auto across = static_cast<size_t>(width);
  for (size_t at = 0; at < pixels.size(); at += across) {
    lines += '\0';  // no filter
    lines.append(reinterpret_cast<const char*>(pixels.data()) + at, across);
  }
  // 8 bits, colors of a palette, and the only methods of compression, filter and interlacing.
  const std::string header = big_endian(static_cast<uint32_t>(width)) +
                             big_endian(static_cast<uint32_t>(pixels.size() / across)) +
                             std::string("\x08\x03\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + png_chunk("PLTE", colors) +
         png_chunk("IDAT", zlib_compressed(lines)) + png_chunk("IEND", "");
}

}  // namespace qkv
