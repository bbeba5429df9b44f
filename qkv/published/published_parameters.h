// The parameters of a published model from its tensors, by the names of its family.
//
//     PublishedModel from = ...;
//     read_published_parameters(from, [&](const TransformerConfig& config) -> Model& { ... }, store);
//
// The tensors decide whether the model has a head and which matrices are shared. Errors: InputError that names all
// tensors that are missing or left over.
#pragma once

#include <functional>

#include "qkv/model/model.h"
#include "qkv/model/store_parameters.h"
#include "qkv/published/published_model.h"

namespace qkv {

void read_published_parameters(PublishedModel& from,
                               const std::function<Model&(const TransformerConfig& config)>& make,
                               const StoreParameter& store);

}  // namespace qkv
