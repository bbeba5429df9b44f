// The reference of a model folder, and what the checks of all architectures use.
#pragma once

#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "qkv/model/model.h"
#include "qkv/tensor/safetensors.h"
#include "test/checkpoint_test/checks.h"

namespace qkv::test {

using Ids = std::vector<int32_t>;

struct Reference {
  explicit Reference(const std::filesystem::path& folder);
  // The angles of rotary embedding follow the longest row of a batch.
  bool depends_on_length() const { return json.contains("with_and_without_cache"); }

  SafetensorsFile file;
  nlohmann::json json;
};

// What the mask leaves of the rows of a batch.
std::vector<Ids> rows_of(const Tensor& ids, const Tensor& mask);
Tensor as_tensor(const Ids& row);  // (1,T)

// The gradients of all parameters together, after backward(): their norm, and the sum of gradient times parameter.
void check_gradients(Model& model, const Reference& reference);

std::vector<Check> causal_checks(const Reference& reference);
std::vector<Check> masked_checks(const Reference& reference);

}  // namespace qkv::test
