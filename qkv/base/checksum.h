// Checksums of what is read back: CRC-32 (ISO 3309), which every change of up to 32 bits in a row changes.
//
//     uint32_t sum = crc32(text);
//     write_file(path, with_checksum(json));                      // its first line: "checksum": "crc32:1a2b3c4d",
//     Json::parse(without_checksum(read_file(path), path));       // an InputError if it is not the file's any more
//
// A JSON file without that line is taken as it is: it was written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qkv {

// Of `bytes`, or of what had the sum `before` followed by them.
uint32_t crc32(std::string_view bytes, uint32_t before = 0);
// Of two pieces, one after the other, from the sum of each; the second has so many bytes.
uint32_t crc32_joined(uint32_t first, uint32_t second, int64_t second_bytes);
// Of one large piece of memory, on all threads.
uint32_t crc32_parallel(std::string_view bytes);

std::string checksum_text(uint32_t sum);  // "crc32:1a2b3c4d"

// An object as nlohmann's dump(2) gives it, with its checksum; and that again, checked. `where` names the file.
std::string with_checksum(std::string_view json);
std::string without_checksum(std::string_view json, std::string_view where);

}  // namespace qkv
