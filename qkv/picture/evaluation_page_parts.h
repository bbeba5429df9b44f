// The style and the script of the page of an evaluation: evaluation_page_style.cc, evaluation_page_script.cc. ASCII,
// without "</", which would end their element.
#pragma once

#include <string_view>

namespace qkv {

extern const std::string_view evaluation_page_style;
extern const std::string_view evaluation_page_script;

}  // namespace qkv
