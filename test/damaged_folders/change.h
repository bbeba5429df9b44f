// Changes to the bytes of a file, each a function of random numbers.
//
//     std::string what = flip_bits(bytes, random);       // "3 bits flipped, the last in byte 17"
//
// A change gives back what it did; nothing if there was no place for it, and then the bytes are as they were.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string>

#include "qkv/base/random.h"

namespace qkv::test {

using Change = std::string (*)(std::string& bytes, Random& random);

inline size_t below(size_t n, Random& random) { return static_cast<size_t>(random.below(n > 0 ? n : 1)); }

template <class List>
const auto& one_of(const List& list, Random& random) {
  return std::data(list)[below(std::size(list), random)];
}

// A size of 32 bits in place of another one: nothing, one more or less, far too much.
inline uint32_t other_size(uint32_t was, Random& random) {
  return one_of(std::array{uint32_t{0}, uint32_t{1}, was - 1, was + 1, 2 * was, 1000 * was, uint32_t{1} << 24,
                           uint32_t{1} << 31, UINT32_MAX},
                random);
}

// What disks, transfers and hands do to any file (byte_changes.cc).
std::string flip_bits(std::string& bytes, Random& random);
std::string truncate(std::string& bytes, Random& random);
std::string insert_byte(std::string& bytes, Random& random);  // one, repeated
std::string remove_range(std::string& bytes, Random& random);
std::string duplicate_range(std::string& bytes, Random& random);
std::string swap_ranges(std::string& bytes, Random& random);
std::string overwrite_range(std::string& bytes, Random& random);
std::string change_early_byte(std::string& bytes, Random& random);  // where sizes and kinds are
std::string change_size(std::string& bytes, Random& random);        // a number of 32 bits that may be a size

// Of text (text_changes.cc): lines removed, repeated or swapped; a number replaced by one at some limit. The numbers of a
// safetensors file are those of its header, whose length stays right.
std::string change_line(std::string& bytes, Random& random);
std::string replace_number(std::string& bytes, Random& random);

// Of JSON, and of the JSON that is the header of a safetensors file (json_changes.cc).
std::string change_json(std::string& bytes, Random& random);
std::string change_header(std::string& bytes, Random& random);

// Of tokenizer.json, parts that are right by themselves, but seldom in their place (tokenizer_changes.cc).
std::string change_tokenizer(std::string& bytes, Random& random);

// Of SentencePiece's models: pieces, their scores and kinds, the character map (sentencepiece_changes.cc).
std::string change_pieces(std::string& bytes, Random& random);
// Of the bytes of a character map: strings that are not UTF-8, wrong links and sizes.
std::string change_character_map(std::string& bytes, Random& random);

// Of a NumPy archive, names, shapes, types and settings, with the right checksums (archive_changes.cc).
std::string change_archive(std::string& bytes, Random& random);

// Of CTranslate2's model.bin, names, shapes, types and settings (variable_changes.cc).
std::string change_variable(std::string& bytes, Random& random);

}  // namespace qkv::test
