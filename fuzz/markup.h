// Properties of a picture that hold for any labels.
#pragma once

#include <string>

namespace qkv::fuzz {

// Tags and attributes of a picture alone, closed in the order they were opened; entities that XML knows; no control
// characters; valid UTF-8. Else the program ends.
void check_svg(const std::string& svg);

// The same up to the style and after it; the data is JSON without a '<', and there is one script more than that.
void check_page(const std::string& page);

}  // namespace qkv::fuzz
