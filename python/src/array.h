// Arrays of Python as tensors, and back, without copies: a tensor shares the memory of its array and keeps it alive,
// and a returned array that of its tensor.
#pragma once

#include <nanobind/nanobind.h>
#include <string>

#include "qkv/tensor/tensor.h"

namespace qkv::python {

namespace nb = nanobind;

// From an object with the buffer protocol or DLPack, or from the tuple (address, type, shape, strides, owner) that
// _arrays.py makes of a PyTorch tensor, which is twenty times faster. TypeError, beginning with `name`, for what is not
// an array of float32 or bfloat16 in CPU memory.
Tensor tensor_of(nb::handle array, const char* name);

// Integers of any width as i32, bool as u8.
Tensor integers_of(nb::handle array, const char* name);

// A NumPy array if `numpy`, else an object with DLPack.
nb::any array_of(const Tensor& tensor, bool numpy);

}  // namespace qkv::python
