// The parts of the extension module: a function for each file of this folder that binds something.
#pragma once

#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <vector>

#include "qkv/attention/multi_token.h"

namespace qkv::python {

namespace nb = nanobind;

void bind_errors();
void bind_masks(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_other_parts(nb::module_& m);  // modify, normalize, reweigh
void bind_functions(nb::module_& m);    // masks, score modifications and scores that are Python functions
void bind_attention(nb::module_& m);
void bind_distributed(nb::module_& m);
void bind_operations(nb::module_& m);
void bind_caches(nb::module_& m);
void bind_layer(nb::module_& m);
void bind_cost(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_evaluation(nb::module_& m);
void bind_tokenizer(nb::module_& m);
void bind_picture(nb::module_& m);
void bind_inspection(nb::module_& m);
void bind_translator(nb::module_& m);
void bind_generator(nb::module_& m);
void bind_embedder(nb::module_& m);
void bind_mask_filler(nb::module_& m);
void bind_option_tables(nb::module_& m);
void bind_training(nb::module_& m);

// parameters: pre_conv, pre_mix, post_conv, post_head, post_mix; undefined where they are left out.
MultiTokenOptions multi_token_options(const std::vector<Variable>& parameters, const std::string& pad_key,
                                      nb::handle mask, std::optional<float> scale);

}  // namespace qkv::python
