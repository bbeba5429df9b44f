// Checksums of files: CRC-32 (ISO 3309), which detects every change of up to 32 consecutive bits.
//
//     uint32_t sum = crc32(text);
//     write_file(path, with_checksum(json));                      // its first line: "checksum": "crc32:1a2b3c4d",
//     Json::parse(without_checksum(read_file(path), path));       // an InputError if the checksum differs
//
// A JSON file without that line is accepted: it was written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qkv {

// Of `bytes`, or of bytes whose sum is `before`, followed by `bytes`.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);
// Of two consecutive pieces, from the sum of each and the size of the second.
uint32_t crc32_joined(uint32_t first, uint32_t second, int64_t second_bytes);
// Of a large piece of memory, on all threads.
uint32_t crc32_parallel(std::string_view bytes);

std::string checksum_text(uint32_t sum);  // "crc32:1a2b3c4d"

// An object, written by Json::dump(2), with its checksum added; and the checksum verified and removed. `where`
// names the file in errors.
std::string with_checksum(std::string_view json);
std::string without_checksum(std::string_view json, std::string_view where);

}  // namespace qkv
