// What the extension module is made of: a function for each file of this folder that has something to show.
#pragma once

#include <nanobind/nanobind.h>

namespace qkv::python {

namespace nb = nanobind;

void bind_errors();
void bind_masks(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_other_parts(nb::module_& m);  // modify, normalize, reweigh
void bind_attention(nb::module_& m);
void bind_picture(nb::module_& m);
void bind_translator(nb::module_& m);
void bind_training(nb::module_& m);

}  // namespace qkv::python
