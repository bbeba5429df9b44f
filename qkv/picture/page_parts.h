// The style and the script of the page: the files of page/, which cmake/embed.cmake makes a source of. ASCII, without
// "</", which would end their element.
#pragma once

#include <string_view>

namespace qkv {

extern const std::string_view page_style;
extern const std::string_view page_script;

}  // namespace qkv
