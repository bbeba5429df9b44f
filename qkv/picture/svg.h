// A picture as one SVG file: title, a grid of panels for every group, one color bar. All cells of a color are one
// path, which keeps the file small.
//
//     std::string text = picture_svg(picture.content(), picture.scale());
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

std::string picture_svg(const PictureContent& content, const ColorScale& scale);

}  // namespace qkv
