#include "qkv/model/masked.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/model/model_file.h"
#include "test/checkpoint_test/reference.h"

namespace qkv::test {
namespace {

namespace fs = std::filesystem;

struct Inputs {
  explicit Inputs(const Reference& reference) : ids(reference.file.get("input_ids")) {
    for (const Ids& row : rows_of(ids, reference.file.get("attention_mask")))
      lengths.push_back(static_cast<int32_t>(row.size()));
    if (reference.file.has("token_type_ids")) types = reference.file.get("token_type_ids");
  }

  Tensor ids, types;
  std::vector<int32_t> lengths;
};

Variable hidden(const MaskedTransformer& model, const Inputs& in) {
  Pass pass;
  return model.encode(in.ids, in.lengths, pass, in.types);
}

void expect_close(const Tensor& got, const Tensor& expected, const std::vector<int32_t>& lengths) {
  for (int64_t b = 0; b < got.dim(0); ++b) {
    double worst = 0;
    for (int64_t t = 0; t < lengths[static_cast<size_t>(b)]; ++t)
      for (int64_t v = 0; v < got.dim(2); ++v)
        worst = std::max<double>(worst, std::abs(got.at<float>({b, t, v}) - expected.at<float>({b, t, v})));
    EXPECT_LT(worst, 1e-4) << "row " << b;
  }
}

void logits(const fs::path& folder) {
  const Reference reference(folder);
  const Inputs in(reference);
  const auto model = load_model_as<MaskedTransformer>(folder);
  const NoGrad guard;
  expect_close(model.logits(hidden(model, in)).value(), reference.file.get("logits"), in.lengths);
}

void last_hidden_state(const fs::path& folder) {
  const Reference reference(folder);
  const Inputs in(reference);
  const auto model = load_model_as<MaskedTransformer>(folder);
  const NoGrad guard;
  expect_close(hidden(model, in).value(),
               reference.file.get(fmt::format("hidden_states.{}", model.config().encoder_layers)), in.lengths);
}

CrossEntropy mean_loss(const MaskedTransformer& model, const Reference& reference) {
  const Inputs in(reference);
  Pass pass;
  return model.loss(in.ids, in.lengths, reference.file.get("labels"), {.ignore_index = -100}, pass, in.types);
}

void loss(const fs::path& folder) {
  const Reference reference(folder);
  const auto model = load_model_as<MaskedTransformer>(folder);
  const float expected = reference.file.get("loss").at<float>({});
  EXPECT_NEAR(mean_loss(model, reference).loss.value().at<float>({0}), expected, 1e-5 * std::abs(expected));
}

void gradients(const fs::path& folder) {
  const Reference reference(folder);
  auto model = load_model_as<MaskedTransformer>(folder);
  mean_loss(model, reference).loss.backward();
  check_gradients(model, reference);
}

}  // namespace

std::vector<Check> masked_checks(const Reference& reference) {
  std::vector<Check> checks = {{"LastHiddenState", last_hidden_state}};
  if (reference.file.has("logits")) checks.push_back({"Logits", logits});
  if (reference.file.has("loss")) checks.push_back({"Loss", loss});
  if (reference.json.contains("grads")) checks.push_back({"Gradients", gradients});
  return checks;
}

}  // namespace qkv::test
