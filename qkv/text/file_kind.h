// What a file is that is not plain text, by its first bytes, with the command that makes text of it, as the end of an
// error message:
//
//     file_kind("\xff\xfeH\0")       // "this is UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > TEXT"
//     file_kind("Hello")             // "": none of these
//
// It recognizes UTF-16 and UTF-32; archives and compressed files except gzip and zstd, which are read; documents of Office and
// PDF; and data that is often at hand beside text: Parquet, GGUF, pictures.
#pragma once

#include <string>
#include <string_view>

namespace qkv {

// How many of the first bytes file_kind() looks at.
inline constexpr size_t file_kind_bytes = 512;

std::string file_kind(std::string_view first_bytes);

}  // namespace qkv
