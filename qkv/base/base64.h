// Bytes as text of the alphabet A-Z a-z 0-9 + / (RFC 4648, section 4).
//
//     base64_encoded("any")                                 // "YW55"
//     base64_decoded("YW55", "tokenizer.json")              // "any"; InputError, naming the file, for other characters
#pragma once

#include <string>
#include <string_view>

namespace qkv {

std::string base64_encoded(std::string_view bytes);
std::string base64_decoded(std::string_view text, std::string_view where);

}  // namespace qkv
