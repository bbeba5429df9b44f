// The style and the script of the page: page_style.cc, page_script.cc. ASCII, and without "</", which would end the
// element that holds them.
#pragma once

#include <string_view>

namespace qkv {

extern const std::string_view page_style;
extern const std::string_view page_script;

}  // namespace qkv
