// Arrays in the format of numpy.save() (version 1.0).
//
//     out.print(npy_file(numbers, {rows, columns}));                     // float32
//     out.print(npy_file(tokens));                                       // texts, of UTF-8
#pragma once

#include <bit>
#include <span>
#include <string>

#include "qkv/tensor/shape.h"

namespace qkv {

static_assert(std::endian::native == std::endian::little);

std::string npy_file(std::span<const float> numbers,
                     const Shape& shape);                  // an Error unless there are as many numbers
std::string npy_file(std::span<const std::string> texts);  // bytes that are not UTF-8 become U+FFFD

}  // namespace qkv
