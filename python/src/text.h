// Texts of Python as UTF-8, and back. Neither way trusts the other side.
#pragma once

#include <nanobind/nanobind.h>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::python {

namespace nb = nanobind;

// Bytes that are not UTF-8 become U+FFFD.
nb::str text_of(std::string_view text);
nb::list texts_of(const std::vector<std::string>& texts);

// Half of a surrogate pair becomes bytes that are not UTF-8, for those who put that into words. TypeError for what
// is no str.
std::string string_of(nb::handle text, const char* name);
std::vector<std::string> strings_of(nb::handle texts, const char* name);

// KeyboardInterrupt, if Ctrl-C was pressed: for loops that run without the interpreter.
void check_signals();

}  // namespace qkv::python
