#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/decode/score.h"
#include "qkv/decode/search.h"
#include "qkv/model/transformer.h"
#include "qkv/published/load_model.h"
#include "qkv/published/model_folder.h"
#include "test/checkpoint_test/reference.h"

namespace qkv::test {
namespace encoder_decoder_model {

namespace fs = std::filesystem;

struct Inputs {
  explicit Inputs(const Reference& reference)
      : source(reference.file.get("input_ids")), target(reference.file.get("decoder_input_ids")) {
    lengths = lengths_of(source, reference.file.get("attention_mask"));
    target_lengths = lengths_of(target, reference.file.get("decoder_attention_mask"));
  }

  Tensor source, target;
  std::vector<int32_t> lengths, target_lengths;
};

void encoder_last_hidden_state(const fs::path& folder) {
  const Reference reference(folder);
  const Inputs in(reference);
  const Transformer model = load_model(folder);
  const NoGrad guard;
  Pass pass;
  expect_close(model.encode(in.source, in.lengths, pass).memory.value(),
               reference.file.get("encoder_last_hidden_state"), in.lengths);
}

void logits(const fs::path& folder) {
  const Reference reference(folder);
  const Inputs in(reference);
  const Transformer model = load_model(folder);
  const NoGrad guard;
  Pass pass;
  const Variable hidden = model.decode(in.target, model.encode(in.source, in.lengths, pass), pass);
  expect_close(model.logits(hidden).value(), reference.file.get("logits"), in.target_lengths);
}

CrossEntropy mean_loss(const Transformer& model, const Reference& reference) {
  const Inputs in(reference);
  Pass pass;
  return model.loss(in.source, in.lengths, in.target, reference.file.get("labels"), {.ignore_index = -100}, pass);
}

void loss(const fs::path& folder) {
  const Reference reference(folder);
  const Transformer model = load_model(folder);
  const float expected = reference.file.get("loss").at<float>({});
  EXPECT_NEAR(mean_loss(model, reference).loss.value().at<float>({0}), expected, 1e-5 * std::abs(expected));
}

void gradients(const fs::path& folder) {
  const Reference reference(folder);
  Transformer model = load_model(folder);
  mean_loss(model, reference).loss.backward();
  check_gradients(model, reference);
}

// Settings of generate() in reference.json.
struct Generated {
  explicit Generated(const Reference& reference)
      : settings(reference.generate_settings()),
        first(reference.file.get("decoder_input_ids").at<int32_t>({0, 0})) {}
  std::optional<int32_t> forced_first() const {
    if (!settings.contains("forced_bos_token_id")) return {};
    return settings["forced_bos_token_id"].get<int32_t>();
  }

  nlohmann::json settings;
  int32_t first;  // the id that every answer begins with
};

void greedy_ids(const fs::path& folder) {
  const Reference reference(folder);
  const Inputs in(reference);
  const Generated generated(reference);
  const Transformer model = load_model(folder);
  const Tensor ids = reference.file.get("generate.greedy_ids"),
               log_probabilities = reference.file.get("generate.greedy_logprobs");
  Pass pass;
  const NoGrad guard;
  const std::unique_ptr<Decoding> decoding = model.start(model.encode(in.source, in.lengths, pass));
  std::vector<Ids> next(in.lengths.size(), Ids{generated.first});
  for (int64_t step = 0; step + 1 < ids.dim(1); ++step) {
    const Tensor logits = decoding->extend(next, pass);
    for (int64_t b = 0; b < ids.dim(0); ++b) {
      const float* row = logits.data<float>() + b * logits.dim(1);
      auto chosen = static_cast<int32_t>(std::max_element(row, row + logits.dim(1)) - row);
      if (step == 0) chosen = generated.forced_first().value_or(chosen);
      double sum = 0;
      for (int64_t v = 0; v < logits.dim(1); ++v) sum += std::exp(static_cast<double>(row[v] - row[chosen]));
      ASSERT_EQ(chosen, ids.at<int32_t>({b, step + 1})) << "row " << b << ", step " << step;
      EXPECT_NEAR(-std::log(sum), log_probabilities.at<float>({b, step}), 1e-4) << "row " << b << ", step " << step;
      next[static_cast<size_t>(b)] = {chosen};
    }
  }
}

void check_beams(const fs::path& folder, const std::string& name, double length_penalty) {
  const Reference reference(folder);
  const Inputs in(reference);
  const Generated generated(reference);
  const Transformer model = load_model(folder);
  SearchOptions options = beam_options(generated.settings);
  options.length_penalty = length_penalty;
  options.forced_first_token = generated.forced_first();
  options.bos = generated.first;
  expect_beams(search(model, in.source, in.lengths, options), reference, name, 1);
}

void beam_ids(const fs::path& folder) { check_beams(folder, "generate.beam", 1.0); }
void beam_ids_with_length_penalty(const fs::path& folder) { check_beams(folder, "generate.beam_lp06", 0.6); }

// Log-probabilities of given targets, by token ids.
void scores(const fs::path& folder) {
  const nlohmann::json json = nlohmann::json::parse(read_file(folder / "reference.json"));
  const Transformer model = load_model(folder);
  const SpecialTokens special = open_model_folder(folder)->tokenizer(TokenizerSide::target).special();
  for (const auto& pair : json["scores"]) {
    const auto source = pair["source"].get<Ids>(), target = pair["target"].get<Ids>();
    const std::vector<int32_t> lengths = {static_cast<int32_t>(source.size())};
    const std::vector<TargetScore> got = score_targets(model, as_tensor(source), lengths, std::vector<Ids>{target},
                                                       {.bos = special.bos, .eos = special.eos});
    EXPECT_NEAR(got[0].log_probability, pair["log_probability"].get<double>(), 1e-4) << pair["target"];
  }
}

}  // namespace encoder_decoder_model

std::vector<Check> score_checks() { return {{"Scores", encoder_decoder_model::scores}}; }

std::vector<Check> encoder_decoder_checks(const Reference& reference) {
  using namespace encoder_decoder_model;
  std::vector<Check> checks = {
      {"EncoderLastHiddenState", encoder_last_hidden_state}, {"Logits", logits}, {"Loss", loss}};
  if (reference.has_gradients()) checks.push_back({"Gradients", gradients});
  if (reference.file.has("generate.greedy_ids")) checks.push_back({"GreedyIds", greedy_ids});
  if (reference.file.has("generate.beam_ids")) checks.push_back({"BeamIds", beam_ids});
  if (reference.file.has("generate.beam_lp06_ids"))
    checks.push_back({"BeamIdsWithLengthPenalty", beam_ids_with_length_penalty});
  return checks;
}

}  // namespace qkv::test
