#include "qkv/picture/palette_png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "qkv/base/checksum.h"
#include "qkv/base/error.h"

namespace qkv::palette_png_test {

uint32_t number_at(const std::string& bytes, size_t at) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

// The contents of a chunk, whose checksum is verified.
std::string contents(const std::string& png, const std::string& type) {
  for (size_t at = 8; at + 12 <= png.size();) {
    const size_t size = number_at(png, at);
    EXPECT_EQ(number_at(png, at + 8 + size), crc32(png.substr(at + 4, 4 + size)));
    if (png.substr(at + 4, 4) == type) return png.substr(at + 8, size);
    at += 12 + size;
  }
  return "none";
}

TEST(PalettePng, HoldsEveryPixelAndColor) {
  const std::string png = palette_png({0, 1, 2, 2, 1, 0}, 3, {{255, 255, 255}, {10, 20, 30}, {1, 2, 3}});
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(contents(png, "IHDR"), std::string("\0\0\0\3\0\0\0\2\x08\3\0\0\0", 13));
  EXPECT_EQ(contents(png, "PLTE"), "\xff\xff\xff\x0a\x14\x1e\x01\x02\x03");
  std::string lines(8, 'x');
  uLongf size = 8;
  const std::string packed = contents(png, "IDAT");
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(lines.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                       static_cast<uLong>(packed.size())),
            Z_OK);
  EXPECT_EQ(lines, std::string("\0\0\1\2\0\2\1\0", 8));
  EXPECT_EQ(contents(png, "IEND"), "");
}

TEST(PalettePng, RefusesWhatIsNotAnImage) {
  EXPECT_THROW(palette_png({0, 1, 2}, 2, {{0, 0, 0}}), Error);
  EXPECT_THROW(palette_png({}, 2, {{0, 0, 0}}), Error);
  EXPECT_THROW(palette_png({0}, 1, std::vector<Color>(257)), Error);
}

}  // namespace qkv::palette_png_test
