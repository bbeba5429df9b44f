// A PNG file (ISO/IEC 15948) of pixels that are indices of a palette.
//
//     std::string bytes = palette_png(pixels, width, palette);     // pixels line by line, at most 256 colors
#pragma once

#include <string>
#include <vector>

#include "qkv/picture/color.h"

namespace qkv {

std::string palette_png(const std::vector<uint8_t>& pixels, int64_t width, const std::vector<Color>& palette);

}  // namespace qkv
