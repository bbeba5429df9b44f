// An inspection as a tuple for Python, and the heads that it is without.
#pragma once

#include <nanobind/nanobind.h>

#include "qkv/interpret/ablation.h"
#include "qkv/pipeline/inspect.h"

namespace qkv::python {

// (title, [a layer (H, T, S), ...], rows, columns, caption, use)
nanobind::tuple maps_tuple(const AttentionMaps& maps);

// (text, log-probability, of each token, tokens, whether a side was cut, [maps_tuple(), ...])
nanobind::tuple inspection_tuple(const Inspection& inspection);

// The heads of a list of names, all together.
std::vector<AttentionHead> heads_of(nanobind::list names, const ModelConfig& config, const char* where);
// The groups that the names of a list mean, in their order.
std::vector<NamedHeads> groups_of(nanobind::list names, const ModelConfig& config, const char* where);

// ((name, loss, BLEU or None) of the whole model, [the same without each group], number of texts, of tokens)
nanobind::tuple ablation_tuple(const Ablation& ablation);

}  // namespace qkv::python
