// A picture as one interactive HTML page, with the weights as 16-bit numbers. It fetches nothing: its content
// security policy forbids it.
//
//     std::string text = picture_page(picture.content(), picture.scale());
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

std::string picture_page(const PictureContent& content, const ColorScale& scale);

}  // namespace qkv
