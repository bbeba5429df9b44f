// A model as a folder:
//
//     config.json          the configuration (model/config.h)
//     model.safetensors    the parameters, by the names that Transformer::visit gives
//
//     save_model("my-model", model);
//     Transformer model = load_model("my-model");
//
// Each file is written aside and renamed. Everything read is checked: a missing, extra or misshapen parameter is an
// InputError that names the file and the tensor.
#pragma once

#include <filesystem>

#include "qkv/model/transformer.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {

void save_model(const std::filesystem::path& folder, Transformer& model);  // makes the folder if it is not there
Transformer load_model(const std::filesystem::path& folder);

// The parameters by name, as views; and copied in from a file, all of them or an error.
NamedTensors parameters_of(Transformer& model);
void load_parameters(const std::filesystem::path& path, Transformer& model);

}  // namespace qkv
