// A picture as one SVG file: its title, every group as a grid of panels, one colour bar. Cells of one colour are
// one path, so a hundred heads stay a file of reasonable size and every line stays sharp at any magnification.
//
//     std::string text = picture_svg(picture.content(), picture.scale());
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

std::string picture_svg(const PictureContent& content, const ColorScale& scale);

}  // namespace qkv
