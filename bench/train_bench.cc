// Speed of training: steps of a model with random weights, each the forward pass, the label-smoothed loss, the backward
// pass, the norm of the gradient and Adam, in target tokens a second (the end of a sentence counts, padding does not).
//
//     train_bench --recipe base --precision bf16
//     train_bench --recipe tiny --vocabulary 10000 --batches batches.json --threads 2 --json
//     train_bench --recipe base --profile trace.json         # where the time goes, op by op: measure/step_profile.h
//     train_bench --recipe gpt2-small                        # a causal model, rows of 1,024 tokens; bench/gpt2_pytorch.py
//
// The batches are those of a file, the lengths of source and target of every sentence,
//
//     {"tiny": {"batches": [[[12, 14], [12, 15], ...], ...]}, "base": ...}
//
// or are cut from random sentences of 5 to 40 tokens sorted by length. Their first pass warms up; the median of
// `--repeat` passes counts. Steps are profiled after these.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/base/peak_memory.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/instruction_set.h"
#include "qkv/measure/machine_speed.h"
#include "qkv/measure/step_profile.h"
#include "qkv/model/causal.h"
#include "qkv/model/transformer.h"
#include "qkv/text/batches.h"
#include "qkv/train/adam.h"
#include "qkv/train/gradient_norm.h"

namespace {

using namespace qkv;
using Clock = std::chrono::steady_clock;
using Lengths = std::vector<std::pair<int, int>>;  // source and target of every sentence of a batch

struct Settings {
  std::string recipe = "tiny", batches, precision = "f32", profile;
  int64_t vocabulary = 0, tokens = 0, count = 0;  // 0: those of the recipe
  int threads = 2, repeat = 5;
  bool json = false, recompute = false;
};

struct Sizes {
  int64_t vocabulary, target_tokens;
  int64_t batches;
};
Sizes sizes_of(const Settings& s) {
  Sizes sizes = s.recipe == "tiny"         ? Sizes{10'000, 4096, 6}
                : s.recipe == "gpt2-small" ? Sizes{50'257, 1024, 2}
                                           : Sizes{32'000, 2048, 2};
  if (s.vocabulary > 0) sizes.vocabulary = s.vocabulary;
  if (s.tokens > 0) sizes.target_tokens = s.tokens;
  if (s.count > 0) sizes.batches = s.count;
  return sizes;
}

// Sentences like those of a corpus of captions: about 14 tokens, the target 5% longer.
std::vector<Lengths> random_batches(const Sizes& sizes) {
  Random random(1);
  Lengths pool(30'000);
  const auto clip = [](double x) { return static_cast<int>(std::lround(std::clamp(x, 5.0, 40.0))); };
  for (auto& [source, target] : pool) {
    double x = 0;  // a gamma distribution of shape 9
    for (int i = 0; i < 9; ++i) x -= 1.6 * std::log(1 - random.uniform());
    source = clip(x);
    target = clip(source * (1.05 + 0.12 * random.normal()));
  }
  std::sort(pool.begin(), pool.end(),
            [](auto a, auto b) { return std::swap(a.first, a.second), std::swap(b.first, b.second), a < b; });
  std::vector<Lengths> all(1), out;
  for (const auto& pair : pool) {
    if (static_cast<int64_t>(all.back().size() + 1) * (pair.second + 1) > sizes.target_tokens) all.emplace_back();
    all.back().push_back(pair);
  }
  const auto count = static_cast<size_t>(sizes.batches);
  for (size_t i = 0; i < count; ++i) out.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  return out;
}

std::vector<Lengths> read_batches(const std::string& path, const std::string& recipe) {
  const auto found = nlohmann::json::parse(read_file(path)).at(recipe).at("batches").get<std::vector<Lengths>>();
  for (const Lengths& batch : found)
    for (const auto& [source, target] : batch)
      if (source < 1 || target < 1 || source > 10'000 || target > 10'000)
        throw std::runtime_error(
            fmt::format("{}: lengths must be 1 to 10000, got {} and {}", path, source, target));
  if (found.empty() || std::ranges::any_of(found, [](const Lengths& batch) { return batch.empty(); }))
    throw std::runtime_error(path + ": there must be batches, and sentences in each");
  return found;
}

std::vector<Batch> batches_of(const std::vector<Lengths>& lengths, int64_t vocabulary) {
  Random random(2);
  std::vector<Batch> out;
  const auto sentence = [&](int length) {
    std::vector<int32_t> ids(static_cast<size_t>(length));
    for (int32_t& id : ids) id = 4 + static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary - 4)));
    return ids;
  };
  for (const Lengths& batch : lengths) {
    EncodedCorpus corpus;
    for (const auto& [source, target] : batch) corpus.add(sentence(source), sentence(target));
    BatchStream stream(corpus, {.sentences = static_cast<int64_t>(batch.size()), .order = BatchOrder::as_given});
    out.push_back(stream.next());
  }
  return out;
}

// Seconds of a pass over the batches.
struct Spent {
  double forward = 0, backward = 0, optimizer = 0;
  double all() const { return forward + backward + optimizer; }
};

// A batch: its loss, summed over the target tokens.
struct Work {
  std::function<CrossEntropy(Pass&)> loss;
  int64_t target_tokens = 0;
};

struct Training {
  std::unique_ptr<Model> model;
  std::vector<Work> batches;
};

Training translation(const TransformerConfig& config, std::vector<Batch> batches) {
  auto model = std::make_unique<Transformer>(config, 1);
  Training training;
  for (Batch& batch : batches) {
    const int64_t tokens = batch.target_tokens;
    training.batches.push_back(
        {[&m = *model, batch = std::move(batch)](Pass& pass) {
           return m.loss(batch.source, batch.source_lengths, batch.target_in, batch.target_out,
                         {.label_smoothing = 0.1f, .reduction = CrossEntropyOptions::Reduction::sum}, pass);
         },
         tokens});
  }
  training.model = std::move(model);
  return training;
}

// The shape of GPT-2 small: 124 million parameters with its vocabulary. No dropout.
Training language_model(const Sizes& sizes) {
  constexpr int64_t T = 1024;
  TransformerConfig config{.architecture = Architecture::causal,
                           .source_vocabulary = sizes.vocabulary,
                           .target_vocabulary = sizes.vocabulary,
                           .d_model = 768,
                           .heads = 12,
                           .ffn = 3072,
                           .decoder_layers = 12,
                           .dropout = 0,
                           .activation = Activation::gelu_tanh,
                           .positions = Positions::learned,
                           .tie = Tie::all,
                           .max_positions = T};
  auto model = std::make_unique<CausalTransformer>(config, 1);
  Training training;
  Random random(2);
  const int64_t rows = std::max<int64_t>(1, sizes.target_tokens / T);
  for (int64_t i = 0; i < sizes.batches; ++i) {
    Tensor ids = Tensor::empty({rows, T + 1}, DType::i32);
    for (int32_t& id : ids.span<int32_t>())
      id = static_cast<int32_t>(random.below(static_cast<uint64_t>(sizes.vocabulary)));
    training.batches.push_back(
        {[&m = *model, in = ids.slice(1, 0, T).contiguous_copy(), out = ids.slice(1, 1, T + 1).contiguous_copy()](
             Pass& pass) { return m.loss(in, out, {.reduction = CrossEntropyOptions::Reduction::sum}, pass); },
         rows * T});
  }
  training.model = std::move(model);
  return training;
}

class Trainer {
 public:
  Trainer(Training training, Precision precision, bool recompute)
      : training_(std::move(training)),
        recompute_(recompute),
        parameters_(parameters_of(*training_.model)),
        adam_(parameters_) {
    training_.model->train_in({.precision = precision});
  }

  Spent pass(StepProfile* profile = nullptr) {
    Spent spent;
    for (const Work& batch : training_.batches) {
      std::optional<StepProfile::Step> profiled;
      if (profile) profiled.emplace(*profile);
      const auto t0 = Clock::now();
      Pass pass{.training = true, .seed = 1, .step = step_++, .recompute = recompute_};
      const CrossEntropy loss = batch.loss(pass);
      const auto t1 = Clock::now();
      loss.loss.backward();
      const auto t2 = Clock::now();
      gradient_norm(parameters_);
      adam_.step(1e-4, 1.0 / static_cast<double>(batch.target_tokens));
      adam_.zero_grad();
      const auto t3 = Clock::now();
      spent.forward += std::chrono::duration<double>(t1 - t0).count();
      spent.backward += std::chrono::duration<double>(t2 - t1).count();
      spent.optimizer += std::chrono::duration<double>(t3 - t2).count();
    }
    return spent;
  }

  int64_t target_tokens() const {
    int64_t tokens = 0;
    for (const Work& batch : training_.batches) tokens += batch.target_tokens;
    return tokens;
  }
  int64_t steps() const { return std::ssize(training_.batches); }

 private:
  static std::vector<Variable> parameters_of(Model& model) {
    std::vector<Variable> parameters;
    model.visit([&](const std::string&, Variable& p) { parameters.push_back(p); });
    return parameters;
  }

  Training training_;
  bool recompute_;
  std::vector<Variable> parameters_;
  Adam adam_;
  uint64_t step_ = 0;
};

// Whole passes: the table is the mean of the batches.
void write_profile(Trainer& training, const std::string& path) {
  const int64_t passes = std::max<int64_t>(1, 5 / training.steps());
  StepProfile profile(passes * training.steps(), 0);
  while (!profile.is_complete()) training.pass(&profile);
  write_file(path, profile.trace("train_bench"));
  std::cerr << profile.table(measure_machine());
}

Training training_of(const Settings& s, const Sizes& sizes) {
  if (s.recipe == "gpt2-small") {
    if (!s.batches.empty()) throw std::runtime_error("--batches is for translation, gpt2-small has rows of 1024");
    return language_model(sizes);
  }
  TransformerConfig config = recipe("transformer-" + s.recipe).transformer();
  config.source_vocabulary = config.target_vocabulary = sizes.vocabulary;
  const std::vector<Lengths> lengths =
      s.batches.empty() ? random_batches(sizes) : read_batches(s.batches, s.recipe);
  return translation(config, batches_of(lengths, sizes.vocabulary));
}

double resident_mb() { return static_cast<double>(peak_memory()) / (1024 * 1024); }

int run(int argc, char** argv) {
  Settings s;
  CLI::App app("Times the training of a model with random weights.");
  app.add_option("--recipe", s.recipe, "size of the model")
      ->check(CLI::IsMember({"tiny", "small", "base", "gpt2-small"}))
      ->capture_default_str();
  app.add_option("--vocabulary", s.vocabulary, "default: 10000, 32000 of base, 50257 of gpt2-small")
      ->check(CLI::Range(16, 1'000'000));
  app.add_option("--batches", s.batches, "file with the lengths of the sentences of each batch; default: random");
  app.add_option("--tokens", s.tokens,
                 "target tokens of a random batch; default: 4096, 2048 of base, 1024 of gpt2-small")
      ->check(CLI::Range(64, 1'000'000));
  app.add_option("--count", s.count, "number of random batches; default: 6, 2 of base and gpt2-small")
      ->check(CLI::Range(1, 1000));
  app.add_option("--precision", s.precision, "numbers that products are computed from")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_flag("--recompute", s.recompute, "keep the inputs of blocks alone");
  app.add_option("--threads", s.threads)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--repeat", s.repeat, "passes over the batches")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", s.json, "one line of JSON");
  app.add_option("--profile", s.profile,
                 "time, GFLOP/s and bytes of every operation: a table on stderr, and a trace in this file");
  CLI11_PARSE(app, argc, argv);

  set_threads(s.threads);
  const Sizes sizes = sizes_of(s);
  const auto precision = value_named<Precision>(s.precision, "train_bench", "--precision");
  Trainer training(training_of(s, sizes), precision, s.recompute);
  training.pass();
  std::vector<Spent> passes;
  for (int i = 0; i < s.repeat; ++i) passes.push_back(training.pass());
  std::ranges::sort(passes, {}, &Spent::all);
  const Spent median = passes[passes.size() / 2];
  const double tokens_per_s = static_cast<double>(training.target_tokens()) / median.all();
  const double ms = 1000 * median.all() / static_cast<double>(training.steps());
  if (s.json) {
    const nlohmann::ordered_json line = {{"recipe", s.recipe},
                                         {"vocabulary", sizes.vocabulary},
                                         {"precision", s.precision},
                                         {"recompute", s.recompute},
                                         {"threads", s.threads},
                                         {"instruction_set", instruction_set()},
                                         {"steps", training.steps()},
                                         {"target_tokens", training.target_tokens()},
                                         {"ms", ms},
                                         {"tokens_per_s", tokens_per_s},
                                         {"forward", median.forward / median.all()},
                                         {"backward", median.backward / median.all()},
                                         {"optimizer", median.optimizer / median.all()},
                                         {"resident_mb", resident_mb()}};
    std::cout << line.dump() << "\n";
  } else {
    std::cout << fmt::format(
        "{}, {}: {:.0f} tokens/s, {:.1f} ms a step ({:.0f}% forward, {:.0f}% backward), {:.0f} MB\n", s.recipe,
        s.precision, tokens_per_s, ms, 100 * median.forward / median.all(), 100 * median.backward / median.all(),
        resident_mb());
  }
  if (!s.profile.empty()) write_profile(training, s.profile);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "train_bench: " << e.what() << "\n";
    return 1;
  }
}
