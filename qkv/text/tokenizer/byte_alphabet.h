// The alphabet of byte-level BPE (Radford et al., "GPT-2", 2019): a printable character for every byte. Printable bytes
// stand for themselves, the others become U+0100 and up: a space is U+0120.
//
//     byte_level("\n")              // "\u010A"
//     bytes_of_byte_level("\u0120a")     // " a"; characters outside the alphabet are their own bytes
#pragma once

#include <string>
#include <string_view>

namespace qkv {

const std::string& character_of_byte(unsigned char byte);
std::string byte_level(std::string_view bytes);
std::string bytes_of_byte_level(std::string_view text);

// Byte fallback: "<0x0A>" stands for a byte.
bool is_byte_token(std::string_view token);

}  // namespace qkv
