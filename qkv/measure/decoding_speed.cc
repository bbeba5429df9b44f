#include "qkv/measure/decoding_speed.h"

#include <algorithm>
#include <chrono>

#include "qkv/base/random.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/search.h"

namespace qkv {
namespace {

using Sentences = std::vector<std::vector<int32_t>>;

// Batches of sentences of similar length, each with eos.
std::vector<PaddedBatch> batches_of(Sentences sentences, int64_t batch) {
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<PaddedBatch> out;
  for (size_t first = 0; first < sentences.size(); first += static_cast<size_t>(batch)) {
    const size_t end = std::min(first + static_cast<size_t>(batch), sentences.size());
    const Sentences part(sentences.begin() + static_cast<int64_t>(first),
                         sentences.begin() + static_cast<int64_t>(end));
    out.push_back(pad_batch(part, {.append = Tokenizer::eos}));
  }
  return out;
}

}  // namespace

Sentences random_sentences(int64_t count, int64_t vocabulary) {
  Random random(1);
  Sentences out(static_cast<size_t>(count));
  for (auto& ids : out) {
    ids.resize(10 + random.below(31));
    for (int32_t& id : ids) id = 4 + static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary - 4)));
  }
  return out;
}

DecodingSpeed measure_decoding(const Transformer& model, Sentences sentences, const DecodingWork& work) {
  const NoGrad guard;
  const auto count = std::ssize(sentences);
  const std::vector<PaddedBatch> batches = batches_of(std::move(sentences), work.batch);
  const SearchOptions options = {
      .beam = work.beam, .min_length = work.tokens, .max_length = work.tokens, .scores = false};
  search(model, batches[0].ids, batches[0].lengths, options);
  double fastest = 0;
  for (int round = 0; round < work.rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (const PaddedBatch& batch : batches) search(model, batch.ids, batch.lengths, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fastest = round == 0 ? seconds : std::min(fastest, seconds);
  }
  return {
      .sentences = count, .seconds = fastest, .tokens_per_s = static_cast<double>(count * work.tokens) / fastest};
}

}  // namespace qkv
