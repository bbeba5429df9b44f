// Searching translations: 32 sentences of 10 to 20 tokens, answers of 15, with random weights.
//
//     bench/decode_bench --benchmark_filter=base        items are answered tokens
#include <benchmark/benchmark.h>

#include "qkv/base/random.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/search.h"
#include "qkv/decode/top_tokens.h"
#include "qkv/model/transformer.h"

namespace {

using namespace qkv;

PaddedBatch sentences(int64_t count) {
  Random random(1);
  std::vector<std::vector<int32_t>> rows(static_cast<size_t>(count));
  for (auto& row : rows) {
    row.resize(10 + random.below(11));
    for (int32_t& id : row) id = 4 + static_cast<int32_t>(random.below(7000));
  }
  return pad_batch(rows, {.append = Tokenizer::eos});
}

Transformer model_of(const char* name, int64_t vocabulary) {
  TransformerConfig config = recipe(name);
  config.source_vocabulary = config.target_vocabulary = vocabulary;
  return {config, 1};
}

void search_with(benchmark::State& state, const char* name, int64_t vocabulary) {
  const Transformer model = model_of(name, vocabulary);
  const PaddedBatch source = sentences(32);
  const SearchOptions options = {.beam = state.range(0), .min_length = 15, .max_length = 15};
  model.pack_for_inference();
  search(model, source.ids, source.lengths, options);  // the memory of later searches
  for (auto _ : state) benchmark::DoNotOptimize(search(model, source.ids, source.lengths, options));
  state.SetItemsProcessed(state.iterations() * 32 * 15);
}

void search_tiny(benchmark::State& state) { search_with(state, "transformer-tiny", 8000); }
void search_base(benchmark::State& state) { search_with(state, "transformer-base", 32000); }

void top_of_32000(benchmark::State& state) {
  Tensor logits = Tensor::empty({128, 32000});
  Random random(1);
  for (float& x : logits.span<float>()) x = static_cast<float>(random.normal());
  for (auto _ : state)
    benchmark::DoNotOptimize(top_tokens(logits, state.range(0), {.eos = 2, .suppress_tokens = {0, 1}}));
  state.SetItemsProcessed(state.iterations() * 128);
}

BENCHMARK(search_tiny)->Arg(1)->Arg(4)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(search_base)->Arg(1)->Arg(4)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(top_of_32000)->Arg(1)->Arg(4)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
