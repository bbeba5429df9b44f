// The checksum of a safetensors file: an entry of its metadata, computed over all bytes of the file with 0 in its
// place.
//
//     {"__metadata__": {"qkv.checksum": "crc32:1a2b3c4d", ...}, ...}
//
//     set_safetensors_checksum(header, sum);                       // header: written with checksum_text(0)
//     check_safetensors_checksum(file, header, metadata, name);    // an InputError if it differs
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "qkv/base/checksum.h"
#include "qkv/base/file.h"

namespace qkv {

inline constexpr std::string_view safetensors_checksum_key = "qkv.checksum";

// `header`: the bytes of the file up to its data.
void set_safetensors_checksum(std::string& header, uint32_t sum);

// Removes the entry from the metadata. Without an entry nothing is checked.
void check_safetensors_checksum(const RandomAccessFile& file, std::string header,
                                std::map<std::string, std::string>& metadata, const std::string& file_name);

}  // namespace qkv
