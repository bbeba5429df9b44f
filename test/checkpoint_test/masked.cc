#include "qkv/model/masked.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/layer/mechanism/global_tokens.h"
#include "qkv/published/load_model.h"
#include "test/checkpoint_test/reference.h"

namespace qkv::test {
namespace masked_model {

namespace fs = std::filesystem;

struct Inputs {
  explicit Inputs(const Reference& reference) : ids(reference.file.get("input_ids")) {
    lengths = lengths_of(ids, reference.file.get("attention_mask"));
    if (reference.file.has("global_attention_mask")) global_tokens = reference.file.get("global_attention_mask");
    if (reference.file.has("token_type_ids")) types = reference.file.get("token_type_ids");
  }

  Pass pass() const { return {.input = GlobalTokens{global_tokens}}; }

  Tensor ids, types, global_tokens;
  std::vector<int32_t> lengths;
};

Variable hidden(const MaskedTransformer& model, const Inputs& in) {
  Pass pass = in.pass();
  return model.encode(in.ids, in.lengths, pass, in.types);
}

void logits(const fs::path& folder) {
  const Reference reference(folder);
  const Inputs in(reference);
  const auto model = load_model_as<MaskedTransformer>(folder);
  const NoGrad guard;
  expect_close(model.logits(hidden(model, in)).value(), reference.result("logits"), in.lengths);
}

void last_hidden_state(const fs::path& folder) {
  const Reference reference(folder);
  const Inputs in(reference);
  const auto model = load_model_as<MaskedTransformer>(folder);
  const NoGrad guard;
  expect_close(hidden(model, in).value(),
               reference.file.get(fmt::format("hidden_states.{}", model.config().transformer().encoder_layers)),
               in.lengths);
}

void last_hidden_state_without_global_tokens(const fs::path& folder) {
  const Reference reference(folder);
  Inputs in(reference);
  in.global_tokens = {};
  const auto model = load_model_as<MaskedTransformer>(folder);
  const NoGrad guard;
  expect_close(hidden(model, in).value(), reference.file.get("no_global.last_hidden_state"), in.lengths);
}

CrossEntropy mean_loss(const MaskedTransformer& model, const Reference& reference) {
  const Inputs in(reference);
  Pass pass = in.pass();
  return model.loss(in.ids, in.lengths, reference.file.get("labels"), {.ignore_index = -100}, pass, in.types);
}

void loss(const fs::path& folder) {
  const Reference reference(folder);
  const auto model = load_model_as<MaskedTransformer>(folder);
  const float expected = reference.result("loss").at<float>({});
  EXPECT_NEAR(mean_loss(model, reference).loss.value().at<float>({0}), expected, 1e-5 * std::abs(expected));
}

void gradients(const fs::path& folder) {
  const Reference reference(folder);
  auto model = load_model_as<MaskedTransformer>(folder);
  mean_loss(model, reference).loss.backward();
  check_gradients(model, reference);
}

}  // namespace masked_model

std::vector<Check> masked_checks(const Reference& reference) {
  using namespace masked_model;
  std::vector<Check> checks;
  if (reference.has_hidden_states()) checks.push_back({"LastHiddenState", last_hidden_state});
  if (reference.file.has("no_global.last_hidden_state"))
    checks.push_back({"LastHiddenStateWithoutGlobalTokens", last_hidden_state_without_global_tokens});
  if (reference.has_result("logits")) checks.push_back({"Logits", logits});
  if (reference.has_result("loss")) checks.push_back({"Loss", loss});
  if (reference.has_gradients()) checks.push_back({"Gradients", gradients});
  return checks;
}

}  // namespace qkv::test
