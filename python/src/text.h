// Python strings as UTF-8, and back, whether valid or not.
#pragma once

#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/model/store_parameters.h"

namespace qkv::python {

namespace nb = nanobind;

// Bytes that are not UTF-8 become U+FFFD.
nb::str text_of(std::string_view text);
nb::list texts_of(const std::vector<std::string>& texts);

// A lone surrogate becomes bytes that are not UTF-8, for which the library has an error. TypeError for what is not a
// str.
std::string string_of(nb::handle text, const char* name);
std::vector<std::string> strings_of(nb::handle texts, const char* name);

// `weights`: the name of a number format; None: as the files of the model store them. `map`: in place. `precision`: the name
// of the numbers of products. `cache`: the name of the format of keys and values.
InferenceOptions inference_options(const std::optional<std::string>& weights, bool map,
                                   const std::string& precision, const char* where,
                                   const std::string& cache = "f32");

// Throws KeyboardInterrupt if Ctrl-C was pressed: for loops that run without the GIL.
void check_signals();

}  // namespace qkv::python
