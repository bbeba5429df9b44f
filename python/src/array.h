// Arrays of Python as tensors, and back. Nothing is copied: a tensor looks at the memory of the array that it is
// made from and keeps it alive, and an array that is returned does the same to its tensor.
#pragma once

#include <nanobind/nanobind.h>
#include <string>

#include "qkv/tensor/tensor.h"

namespace qkv::python {

namespace nb = nanobind;

// Of anything that NumPy or DLPack describes, or of the tuple (address, type, shape, strides) that arrays.py makes
// of a PyTorch tensor, which is twenty times faster. TypeError for what is no array, not in memory, or of another
// type; `name` begins the message.
Tensor tensor_of(nb::handle array, const char* name);

// Lengths, identifiers and switches: integers of any width as i32, bool as u8.
Tensor integers_of(nb::handle array, const char* name);

// An array of NumPy where `numpy`, else something that any from_dlpack() takes.
nb::any array_of(const Tensor& tensor, bool numpy);

}  // namespace qkv::python
