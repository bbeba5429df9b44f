// Speed of a training step: forward, label-smoothed loss, backward, Adam, in real target tokens a second (the end
// of the sentence counted, padding not). An iteration goes through a fixed set of batches cut from sentences of 5
// to 40 tokens sorted by length.
//
//     train_bench --benchmark_filter=tiny
//     QKV_BATCHES=batches.json train_bench      # {"tiny": {"batches": [[[source, target], ...], ...]}, ...}:
//     lengths
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "qkv/base/file.h"
#include "qkv/base/random.h"
#include "qkv/model/transformer.h"
#include "qkv/text/batches.h"
#include "qkv/train/optimizer.h"

namespace {

using namespace qkv;
using Clock = std::chrono::steady_clock;
using Lengths = std::vector<std::pair<int, int>>;  // source and target of every sentence of a batch

struct Case {
  const char *name, *recipe;
  int64_t vocabulary, target_tokens;
  size_t batches;
};

// Sentences like those of a corpus of captions: about 14 tokens, the target 5% longer.
std::vector<Lengths> own_batches(const Case& c) {
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
    if (static_cast<int64_t>(all.back().size() + 1) * (pair.second + 1) > c.target_tokens) all.emplace_back();
    all.back().push_back(pair);
  }
  for (size_t i = 0; i < c.batches; ++i) out.push_back(all[(2 * i + 1) * all.size() / (2 * c.batches)]);
  return out;
}

std::vector<Batch> batches_of(const Case& c) {
  std::vector<Lengths> lengths;
  if (const char* path = std::getenv("QKV_BATCHES")) {
    lengths = nlohmann::json::parse(read_file(path)).at(c.name).at("batches").get<std::vector<Lengths>>();
  } else {
    lengths = own_batches(c);
  }
  Random random(2);
  std::vector<Batch> out;
  const auto sentence = [&](int length) {
    std::vector<int32_t> ids(static_cast<size_t>(length));
    for (int32_t& id : ids) id = 4 + static_cast<int32_t>(random.below(static_cast<uint64_t>(c.vocabulary - 4)));
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

void training_step(benchmark::State& state, const Case& c) {
  const std::vector<Batch> batches = batches_of(c);
  TransformerConfig config = recipe(c.recipe).transformer();
  config.source_vocabulary = config.target_vocabulary = c.vocabulary;
  Transformer model(config, 1);
  std::vector<Variable> parameters;
  model.visit([&](const std::string&, Variable& p) { parameters.push_back(p); });
  Adam adam(parameters);
  double forward = 0, backward = 0, optimizer = 0;
  int64_t tokens = 0;
  uint64_t step = 0;
  const auto run = [&] {
    for (const Batch& batch : batches) {
      const auto t0 = Clock::now();
      Pass pass{.training = true, .seed = 1, .step = step++};
      const CrossEntropy loss =
          model.loss(batch.source, batch.source_lengths, batch.target_in, batch.target_out,
                     {.label_smoothing = 0.1f, .reduction = CrossEntropyOptions::Reduction::sum}, pass);
      const auto t1 = Clock::now();
      loss.loss.backward();
      const auto t2 = Clock::now();
      const double scale = 1.0 / static_cast<double>(batch.target_tokens);
      benchmark::DoNotOptimize(gradient_norm(parameters));
      adam.step(1e-4, scale);
      adam.zero_grad();
      const auto t3 = Clock::now();
      forward += std::chrono::duration<double>(t1 - t0).count();
      backward += std::chrono::duration<double>(t2 - t1).count();
      optimizer += std::chrono::duration<double>(t3 - t2).count();
      tokens += batch.target_tokens;
    }
  };
  run();
  forward = backward = optimizer = 0;
  tokens = 0;
  for (auto _ : state) run();
  const double all = forward + backward + optimizer;
  state.counters["tokens/s"] = static_cast<double>(tokens) / all;
  state.counters["forward"] = forward / all;
  state.counters["backward"] = backward / all;
  state.counters["optimizer"] = optimizer / all;
  state.counters["ms/step"] =
      1e3 * all / (static_cast<double>(batches.size()) * static_cast<double>(state.iterations()));
}

const Case tiny{"tiny", "transformer-tiny", 10'000, 4096, 6};
const Case base{"base", "transformer-base", 32'000, 2048, 2};
BENCHMARK_CAPTURE(training_step, tiny, tiny)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK_CAPTURE(training_step, base, base)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
