// An inspection as a tuple for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "qkv/pipeline/inspect.h"

namespace qkv::python {

// (text, log-probability, of each token, tokens, whether a side was cut,
//  [(title, [a layer (H, T, S), ...], rows, columns, caption), ...])
nanobind::tuple inspection_tuple(const Inspection& inspection);

}  // namespace qkv::python
