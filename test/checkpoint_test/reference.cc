#include "test/checkpoint_test/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/published/load_model.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::test {

namespace fs = std::filesystem;

namespace {

// Python writes NaN, which JSON does not have.
nlohmann::json parse_python_json(std::string text) {
  for (size_t at = text.find("NaN"); at != std::string::npos; at = text.find("NaN", at))
    text.replace(at, 3, "null");
  return nlohmann::json::parse(text);
}

}  // namespace

Reference::Reference(const fs::path& folder)
    : file(SafetensorsFile::load(folder / "reference.safetensors")),
      json(parse_python_json(read_file(folder / "reference.json"))),
      config(parse_python_json(read_file(folder / "config.json"))) {}

nlohmann::json Reference::generate_settings() const {
  return json.value(nlohmann::json::json_pointer("/generate/generate"), nlohmann::json::object());
}

Tensor Reference::result(const std::string& name) const { return file.get(file.has(name) ? name : "eval." + name); }

bool Reference::has_result(const std::string& name) const { return file.has(name) || file.has("eval." + name); }

bool Reference::has_hidden_states() const {
  const auto names = file.names();
  return std::any_of(names.begin(), names.end(),
                     [](const auto& name) { return name.starts_with("hidden_states."); });
}

nlohmann::json Reference::gradients() const {
  return json.contains("grads") ? json["grads"] : json.value("grads.eval", nlohmann::json());
}

// transformers gives NaN for some rows of Longformer.
bool Reference::has_gradients() const {
  const nlohmann::json all = gradients();
  return !all.empty() && std::none_of(all.begin(), all.end(), [](const auto& norm) { return norm[0].is_null(); });
}

std::vector<Ids> rows_of(const Tensor& ids, const Tensor& mask) {
  std::vector<Ids> rows(static_cast<size_t>(ids.dim(0)));
  for (int64_t b = 0; b < ids.dim(0); ++b)
    for (int64_t t = 0; t < ids.dim(1); ++t)
      if (mask.at<int32_t>({b, t}) != 0) rows[static_cast<size_t>(b)].push_back(ids.at<int32_t>({b, t}));
  return rows;
}

std::vector<int32_t> lengths_of(const Tensor& ids, const Tensor& mask) {
  std::vector<int32_t> lengths;
  for (const Ids& row : rows_of(ids, mask)) lengths.push_back(static_cast<int32_t>(row.size()));
  return lengths;
}

void expect_close(const Tensor& got, const Tensor& expected, const std::vector<int32_t>& lengths) {
  for (int64_t b = 0; b < got.dim(0); ++b) {
    double worst = 0;
    for (int64_t t = 0; t < lengths[static_cast<size_t>(b)]; ++t)
      for (int64_t v = 0; v < got.dim(2); ++v)
        worst = std::max(worst, error_of(got.at<float>({b, t, v}), expected.at<float>({b, t, v})));
    EXPECT_LT(worst, 1e-4) << "row " << b;
  }
}

double error_of(double got, double expected) {
  const double error = std::abs(got - expected);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

Tensor as_tensor(const Ids& row) { return Tensor::from(row, {1, std::ssize(row)}); }

namespace {

// transformers has no gradient for the bias of the logits of an encoder-decoder, and none for padding as an input,
// which is the first token of Marian's decoder.
std::set<std::string> without_gradient(const Model& model, const Reference& reference) {
  if (model.config().architecture() != Architecture::encoder_decoder) return {};
  const int32_t pad =
      reference.generate_settings().value("pad_token_id", reference.config.value("pad_token_id", -1));
  const bool begins_with_padding = reference.file.get("decoder_input_ids").at<int32_t>({0, 0}) == pad;
  const nlohmann::json gradients = reference.gradients();
  if (!begins_with_padding) return {"output.bias"};
  if (gradients.contains("model.shared.weight")) return {"output.bias", "source_embedding", "model.shared.weight"};
  if (gradients.contains("model.decoder.embed_tokens.weight"))
    return {"output.bias", "target_embedding", "model.decoder.embed_tokens.weight"};
  return {"output.bias"};
}

}  // namespace

// A tensor of the file may be several parameters, and a sum of products may be near zero.
void check_gradients(Model& model, const Reference& reference) {
  const std::set<std::string> skipped = without_gradient(model, reference);
  double squares = 0, products = 0, expected_squares = 0, expected_products = 0, largest_product = 0;
  const nlohmann::json gradients = reference.gradients();
  for (const auto& [name, values] : gradients.items()) {
    if (skipped.contains(name)) continue;
    const auto norm = values[0].get<double>(), product = values[1].get<double>();
    expected_squares += norm * norm;
    expected_products += product;
    largest_product = std::max(largest_product, std::abs(product));
  }
  model.visit([&](const std::string& name, Variable& p) {
    if (skipped.contains(name)) return;
    const auto value = std::as_const(p).value().span<float>(), gradient = std::as_const(p).grad().span<float>();
    for (size_t i = 0; i < value.size(); ++i) {
      squares += static_cast<double>(gradient[i]) * gradient[i];
      products += static_cast<double>(gradient[i]) * value[i];
    }
  });
  EXPECT_NEAR(std::sqrt(squares), std::sqrt(expected_squares), 1e-4 * std::sqrt(expected_squares));
  EXPECT_NEAR(products, expected_products, 1e-3 * largest_product);
}

SearchOptions beam_options(const nlohmann::json& settings) {
  return {.beam = settings.at("num_beams"),
          .length_penalty = settings.at("length_penalty"),
          .length_normalization = LengthNormalization::power,
          .early_stopping = false,
          .eos_at_max_length = false,
          .n_best = settings.at("num_return_sequences"),
          .max_length = settings.at("new_tokens"),
          .eos = settings.at("eos_for_beams"),
          .suppress_tokens = {}};
}

void expect_beams(const std::vector<std::vector<Hypothesis>>& found, const Reference& reference,
                  const std::string& name, int64_t prompt) {
  const Tensor ids = reference.file.get(name + "_ids"), scores = reference.file.get(name + "_scores");
  const auto eos = reference.generate_settings().at("eos_for_beams").get<int32_t>();
  int64_t row = 0;
  for (const std::vector<Hypothesis>& answers : found)
    for (const Hypothesis& answer : answers) {
      Ids expected;
      for (int64_t t = prompt; t < ids.dim(1) && ids.at<int32_t>({row, t}) != eos; ++t)
        expected.push_back(ids.at<int32_t>({row, t}));
      EXPECT_EQ(answer.ids, expected) << "answer " << row;
      EXPECT_NEAR(answer.score, scores.at<float>({row}), 1e-4) << "answer " << row;
      ++row;
    }
  EXPECT_EQ(row, ids.dim(0));
}

namespace {

void version_4_config(const fs::path& folder) {
  const ScratchFolder scratch;
  fs::copy_file(folder / "config.v4.json", scratch.path() / "config.json");
  EXPECT_EQ(to_json(load_config(scratch.path())), to_json(load_config(folder)));
}

void readable_config(const fs::path& folder) {
  try {
    load_config(folder);
  } catch (const Error& error) {
    FAIL() << error.what();
  }
}

}  // namespace

std::vector<Check> checks_of(const fs::path& folder) {
  std::vector<Check> checks = {{"Config", readable_config}};
  const auto add = [&](const std::vector<Check>& more) { checks.insert(checks.end(), more.begin(), more.end()); };
  if (!fs::exists(folder / "reference.safetensors")) {
    add(score_checks());
    return checks;
  }
  add(tokenizer_checks(folder));
  try {
    const Reference reference(folder);
    const Architecture architecture = load_config(folder).architecture();
    if (fs::exists(folder / "config.v4.json")) checks.push_back({"Version4Config", version_4_config});
    if (architecture == Architecture::causal) add(causal_checks(reference));
    if (architecture == Architecture::encoder_decoder) add(encoder_decoder_checks(reference));
    if (architecture == Architecture::masked) add(masked_checks(reference));
  } catch (const Error&) {
    // The check of the configuration reports this.
  }
  return checks;
}

}  // namespace qkv::test
