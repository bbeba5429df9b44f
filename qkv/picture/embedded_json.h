// JSON inside a script element of a page.
//
//     "<script type=\"application/json\" id=\"data\">" + embedded_json(data) + "</script>"
#pragma once

#include <string>

#include "qkv/base/json.h"

namespace qkv {

// ASCII, and no '<', which could end the element. Bytes that are not UTF-8 become U+FFFD.
std::string embedded_json(const Json& data);

}  // namespace qkv
