#include "test/checkpoint_test/reference.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/model/model_file.h"
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
      json(parse_python_json(read_file(folder / "reference.json"))) {}

std::vector<Ids> rows_of(const Tensor& ids, const Tensor& mask) {
  std::vector<Ids> rows(static_cast<size_t>(ids.dim(0)));
  for (int64_t b = 0; b < ids.dim(0); ++b)
    for (int64_t t = 0; t < ids.dim(1); ++t)
      if (mask.at<int32_t>({b, t}) != 0) rows[static_cast<size_t>(b)].push_back(ids.at<int32_t>({b, t}));
  return rows;
}

Tensor as_tensor(const Ids& row) { return Tensor::from(row, {1, std::ssize(row)}); }

// A tensor of the file may be several parameters, and a sum of products may be near zero.
void check_gradients(Model& model, const Reference& reference) {
  double squares = 0, products = 0, expected_squares = 0, expected_products = 0, largest_product = 0;
  for (const auto& [name, values] : reference.json["grads"].items()) {
    const auto norm = values[0].get<double>(), product = values[1].get<double>();
    expected_squares += norm * norm;
    expected_products += product;
    largest_product = std::max(largest_product, std::abs(product));
  }
  model.visit([&](const std::string&, Variable& p) {
    const auto value = std::as_const(p).value().span<float>(), gradient = std::as_const(p).grad().span<float>();
    for (size_t i = 0; i < value.size(); ++i) {
      squares += static_cast<double>(gradient[i]) * gradient[i];
      products += static_cast<double>(gradient[i]) * value[i];
    }
  });
  EXPECT_NEAR(std::sqrt(squares), std::sqrt(expected_squares), 1e-4 * std::sqrt(expected_squares));
  EXPECT_NEAR(products, expected_products, 1e-3 * largest_product);
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
  try {
    const Reference reference(folder);
    const Architecture architecture = load_config(folder).architecture;
    if (fs::exists(folder / "config.v4.json")) checks.push_back({"Version4Config", version_4_config});
    if (architecture == Architecture::causal) add(causal_checks(reference));
    if (architecture == Architecture::masked) add(masked_checks(reference));
  } catch (const Error&) {
    // The check of the configuration says it.
  }
  return checks;
}

}  // namespace qkv::test
