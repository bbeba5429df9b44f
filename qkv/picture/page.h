// A picture as one interactive HTML page, with the weights as numbers of 16 or 8 bits (packed_weights.h). It fetches nothing: its content
// security policy forbids it.
//
//     std::string text = picture_page(picture.content(), picture.scale());
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

std::string picture_page(const PictureContent& content, const ColorScale& scale);

}  // namespace qkv
