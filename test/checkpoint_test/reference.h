// The reference of a model folder, and the helpers of the checks of all architectures.
#pragma once

#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "qkv/decode/search.h"
#include "qkv/model/model.h"
#include "qkv/tensor/safetensors.h"
#include "test/checkpoint_test/checks.h"

namespace qkv::test {

using Ids = std::vector<int32_t>;

struct Reference {
  explicit Reference(const std::filesystem::path& folder);
  // The angles of rotary embedding follow the longest row of a batch.
  bool depends_on_length() const { return json.contains("with_and_without_cache"); }

  // A tensor, or that of the evaluation where the reference has several (BigBird).
  Tensor result(const std::string& name) const;
  bool has_result(const std::string& name) const;
  bool has_hidden_states() const;
  nlohmann::json gradients() const;
  bool has_gradients() const;

  nlohmann::json generate_settings() const;  // {} if the reference has no generated ids

  SafetensorsFile file;
  nlohmann::json json, config;  // reference.json, config.json
};

// The visible part of the rows of a batch.
std::vector<Ids> rows_of(const Tensor& ids, const Tensor& mask);
std::vector<int32_t> lengths_of(const Tensor& ids, const Tensor& mask);
// Of (B,T,V), in the first positions of every row, to 1e-4.
void expect_close(const Tensor& got, const Tensor& expected, const std::vector<int32_t>& lengths);
Tensor as_tensor(const Ids& row);  // (1,T)
// Infinite for NaN.
double error_of(double got, double expected);

// The gradients of all parameters together, after backward(): their norm, and the sum of gradient times parameter.
void check_gradients(Model& model, const Reference& reference);

// Of the settings of generate() in reference.json.
SearchOptions beam_options(const nlohmann::json& settings);
// Ids after the first `prompt` ones, and scores, of the best answers of each row; names of tensors begin like this.
void expect_beams(const std::vector<std::vector<Hypothesis>>& found, const Reference& reference,
                  const std::string& name, int64_t prompt);

std::vector<Check> causal_checks(const Reference& reference);
std::vector<Check> score_checks();  // of folders of CTranslate2
std::vector<Check> encoder_decoder_checks(const Reference& reference);
std::vector<Check> tokenizer_checks(const std::filesystem::path& folder);
std::vector<Check> masked_checks(const Reference& reference);

}  // namespace qkv::test
