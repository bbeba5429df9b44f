#include "qkv/picture/svg_to_png.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/picture/heatmap.h"

namespace qkv::svg_to_png_test {

std::string png_error(const std::string& svg, const std::string& program) {
  try {
    return svg_to_png(svg, {.program = program});
  } catch (const InputError& error) {
    return error.what();
  }
}

int big_endian_at(const std::string& bytes, size_t at) {
  int out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return out;
}

TEST(SvgToPng, IsAnImageOfTwiceTheSize) {
  if (std::system("rsvg-convert --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "rsvg-convert is not installed";
  const std::string png = svg_to_png("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"30\" height=\"20\"/>");
  EXPECT_EQ(big_endian_at(png, 16), 60);
  EXPECT_EQ(big_endian_at(png, 20), 40);
  // The images inside of a large picture too.
  EXPECT_GT(svg_to_png(heatmap(Tensor::full({100, 100}, 0.5f)).svg()).size(), 1000u);
}

TEST(SvgToPng, SaysWhatIsMissingOrFailed) {
  if (!QKV_EMULATED) {  // qemu starts a process before it looks for the program
    EXPECT_EQ(
        png_error("<svg/>", "no-such-program"),
        "png: a .png is drawn by no-such-program, which is not installed (Debian: librsvg2-bin); .svg, .html and "
        ".json need no other program");
  }
  EXPECT_EQ(png_error("<svg/>", "false"), "png: false failed: it says nothing");
  EXPECT_EQ(png_error("<svg/>", "true"), "png: true failed: it says nothing");
}

}  // namespace qkv::svg_to_png_test
