#include "qkv/model/causal.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/op/arithmetic.h"
#include "qkv/published/load_model.h"
#include "test/checkpoint_test/reference.h"

namespace qkv::test {
namespace causal_model {

namespace fs = std::filesystem;
// Every row alone, and, unless the angles of rotary embedding depend on the longest row, the padded batch.
void logits(const fs::path& folder) {
  const Reference reference(folder);
  const auto model = load_model_as<CausalTransformer>(folder);
  const NoGrad guard;
  const Tensor ids = reference.file.get("input_ids"), mask = reference.file.get("attention_mask"),
               expected = reference.file.get("logits");
  const std::vector<Ids> rows = rows_of(ids, mask);
  Pass pass;
  const Tensor batch = model.logits(model.forward(ids, pass)).value();
  for (int64_t b = 0; b < ids.dim(0); ++b) {
    const Ids& row = rows[static_cast<size_t>(b)];
    const Tensor alone = model.logits(model.forward(as_tensor(row), pass)).value();
    double worst = 0, worst_padded = 0;
    for (int64_t t = 0; t < std::ssize(row); ++t)
      for (int64_t v = 0; v < expected.dim(2); ++v) {
        const double wanted = expected.at<float>({b, t, v});
        worst = std::max(worst, error_of(alone.at<float>({0, t, v}), wanted));
        worst_padded = std::max(worst_padded, error_of(batch.at<float>({b, t, v}), wanted));
      }
    EXPECT_LT(worst, 1e-4) << "row " << b << " by itself";
    if (!reference.depends_on_length()) {
      EXPECT_LT(worst_padded, 1e-4) << "row " << b << " in the padded batch";
    }
  }
}

// For every row alone.
Variable mean_loss(const CausalTransformer& model, const Reference& reference) {
  const std::vector<Ids> rows = rows_of(reference.file.get("input_ids"), reference.file.get("attention_mask"));
  Variable sum;
  int64_t count = 0;
  for (const Ids& row : rows) {
    Ids targets(row.begin() + 1, row.end());
    targets.push_back(-1);
    Pass pass;
    const CrossEntropy part =
        model.loss(as_tensor(row), as_tensor(targets), {.reduction = CrossEntropyOptions::Reduction::sum}, pass);
    sum = sum.defined() ? add(sum, part.loss) : part.loss;
    count += part.count;
  }
  return scale(sum, 1.0f / static_cast<float>(count));
}

void loss(const fs::path& folder) {
  const Reference reference(folder);
  const auto model = load_model_as<CausalTransformer>(folder);
  const float expected = reference.file.get("loss").at<float>({});
  EXPECT_NEAR(mean_loss(model, reference).value().at<float>({0}), expected, 1e-5 * std::abs(expected));
}

void gradients(const fs::path& folder) {
  const Reference reference(folder);
  auto model = load_model_as<CausalTransformer>(folder);
  mean_loss(model, reference).backward();
  check_gradients(model, reference);
}

// Prompts of unequal length in one batch, step by step with a cache: the most likely token each time.
void expect_greedy(const fs::path& folder, const std::string& name) {
  const Reference reference(folder);
  const auto model = load_model_as<CausalTransformer>(folder);
  const Tensor ids = reference.file.get(name + ".greedy_ids"),
               log_probabilities = reference.file.get(name + ".greedy_logprobs");
  const int64_t prompt = reference.file.get(name + ".input_ids").dim(1), rows = ids.dim(0);
  std::vector<Ids> next =
      rows_of(reference.file.get(name + ".input_ids"), reference.file.get(name + ".attention_mask"));
  const std::unique_ptr<Decoding> decoding = model.start(rows);
  Pass pass;
  for (int64_t step = 0; prompt + step < ids.dim(1); ++step) {
    const Tensor logits = decoding->extend(next, pass);
    for (int64_t b = 0; b < rows; ++b) {
      const float* row = logits.data<float>() + b * logits.dim(1);
      const auto best = static_cast<int32_t>(std::max_element(row, row + logits.dim(1)) - row);
      double sum = 0;
      for (int64_t v = 0; v < logits.dim(1); ++v) sum += std::exp(static_cast<double>(row[v] - row[best]));
      ASSERT_EQ(best, ids.at<int32_t>({b, prompt + step})) << "row " << b << ", step " << step;
      EXPECT_NEAR(-std::log(sum), log_probabilities.at<float>({b, step}), 1e-4) << "row " << b << ", step " << step;
      next[static_cast<size_t>(b)] = {best};
    }
  }
}

void greedy_ids(const fs::path& folder) { expect_greedy(folder, "generate"); }
// Of rows that grow past the length at which the angles of rotary embedding change.
void greedy_ids_across_the_limit(const fs::path& folder) { expect_greedy(folder, "cross"); }

void beam_ids(const fs::path& folder) {
  const Reference reference(folder);
  const auto model = load_model_as<CausalTransformer>(folder);
  const nlohmann::json settings = reference.generate_settings();
  const std::vector<Ids> prompts =
      rows_of(reference.file.get("generate.input_ids"), reference.file.get("generate.attention_mask"));
  const SearchTask task = {.start = [&](auto rows) { return model.start(std::ssize(rows)); },
                           .first = prompts,
                           .max_lengths = std::vector<int64_t>(prompts.size(), settings.at("new_tokens"))};
  expect_beams(search(task, beam_options(settings)), reference, "generate.beam",
               reference.file.get("generate.input_ids").dim(1));
}

}  // namespace causal_model

std::vector<Check> causal_checks(const Reference& reference) {
  using namespace causal_model;
  std::vector<Check> checks = {{"Logits", logits}, {"Loss", loss}};
  if (reference.has_gradients()) checks.push_back({"Gradients", gradients});
  if (reference.file.has("generate.greedy_ids")) checks.push_back({"GreedyIds", greedy_ids});
  if (reference.file.has("cross.greedy_ids"))
    checks.push_back({"GreedyIdsAcrossTheLimit", greedy_ids_across_the_limit});
  if (reference.file.has("generate.beam_ids")) checks.push_back({"BeamIds", beam_ids});
  return checks;
}

}  // namespace qkv::test
