#include "qkv/text/batches.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv {

namespace {

// Random numbers of an epoch: one stream for the pairs, one for the batches, and one for each sentence.
enum class Purpose : uint64_t { pairs = 0x70616972, batches = 0x62617463, sentences = 0x73656e74 };
Random random_of(Purpose purpose, uint64_t seed, int64_t epoch) {
  return Random(seed, mix(static_cast<uint64_t>(purpose), static_cast<uint64_t>(epoch)));
}

bool same_every_epoch(BatchOrder order) { return order == BatchOrder::sorted || order == BatchOrder::as_given; }

// By target length, then by source length, alternately ascending and descending, so that neighbors of different
// target lengths have similar source lengths. Pairs that are equal in both keep their order.
void sort_by_length(const EncodedCorpus& corpus, std::span<uint32_t> pairs) {
  std::vector<std::pair<uint64_t, uint32_t>> keys;  // sorted by key and index: a stable sort without lookups
  keys.reserve(pairs.size());
  std::vector<uint32_t> before(pairs.begin(), pairs.end());
  for (uint32_t i = 0; i < before.size(); ++i) {
    const uint64_t target = corpus.target(before[i]).size(), source = corpus.source(before[i]).size();
    keys.emplace_back(target << 32 | (target % 2 == 0 ? source : 0xffffffff - source), i);
  }
  std::sort(keys.begin(), keys.end());
  for (size_t i = 0; i < keys.size(); ++i) pairs[i] = before[keys[i].second];
}

}  // namespace

BatchTokens BatchTokens::of(const Tokenizer& source, const Tokenizer& target) {
  BatchTokens out;
  const SpecialTokens& special = target.special();
  out.source = source.frame(/*has_bos=*/false, /*has_eos=*/true);
  out.bos = special.bos;
  out.eos = special.eos;
  if (special.forced_first) out.before_target = {*special.forced_first};
  out.pad = std::max(special.pad, 0);  // any id: padding is masked
  return out;
}

int64_t BatchTokens::extra() const {
  return std::max(std::ssize(source.before) + std::ssize(source.after), std::ssize(before_target) + 1);
}

BatchStream::BatchStream(const EncodedCorpus& corpus, const BatchOptions& options)
    : corpus_(corpus), options_(options) {
  require<InputError>(corpus.size() > 0, "batches", "the corpus has no pairs");
  require(corpus.size() < std::numeric_limits<uint32_t>::max(), "batches",
          "the corpus has {} pairs, at most 2^32 - 2 fit", corpus.size());
  require<UsageError>(options.sentences >= 0, "batches", "sentences must be at least 0, got {}", options.sentences);
  require<UsageError>(options.sentences > 0 || options.batch_tokens >= 1, "batches",
                      "batch_tokens must be at least 1, got {}", options.batch_tokens);
  require<UsageError>(options.pool >= 1, "batches", "pool must be at least 1, got {}", options.pool);
}

void BatchStream::make_plan(int64_t epoch) {
  if (plan_.epoch == epoch) return;
  if (plan_.epoch >= 0 && same_every_epoch(options_.order)) {
    plan_.epoch = epoch;
    return;
  }
  const auto pairs = static_cast<size_t>(corpus_.size());
  const auto pool = options_.order == BatchOrder::bucketed ? static_cast<size_t>(options_.pool) : pairs;
  plan_ = {.epoch = epoch};
  plan_.order.resize(pairs);
  std::iota(plan_.order.begin(), plan_.order.end(), 0u);
  const std::span<uint32_t> order(plan_.order);
  if (!same_every_epoch(options_.order)) random_of(Purpose::pairs, options_.seed, epoch).shuffle(order);
  for (size_t begin = 0; begin < pairs; begin += pool) {
    const size_t end = std::min(begin + pool, pairs);
    if (options_.order == BatchOrder::bucketed || options_.order == BatchOrder::sorted)
      sort_by_length(corpus_, order.subspan(begin, end - begin));
    cut(begin, end);
  }
  plan_.turns.resize(plan_.begins.size());
  std::iota(plan_.turns.begin(), plan_.turns.end(), 0u);
  if (options_.order == BatchOrder::bucketed)
    random_of(Purpose::batches, options_.seed, epoch).shuffle(std::span<uint32_t>(plan_.turns));
  plan_.begins.push_back(static_cast<uint32_t>(pairs));
}

void BatchStream::cut(size_t begin, size_t end) {
  size_t longest = 0, sentences = 0;
  for (size_t i = begin; i < end; ++i) {
    const size_t length =
        std::max(corpus_.source(plan_.order[i]).size(), corpus_.target(plan_.order[i]).size()) + 1;
    longest = std::max(longest, length);
    ++sentences;
    const bool full = options_.sentences > 0 ? sentences > static_cast<size_t>(options_.sentences)
                                             : longest * sentences > static_cast<size_t>(options_.batch_tokens);
    if (i > begin && !full) continue;
    plan_.begins.push_back(static_cast<uint32_t>(i));
    longest = length;
    sentences = 1;
  }
}

int64_t BatchStream::batches_in_epoch() {
  make_plan(position_.epoch);
  return static_cast<int64_t>(plan_.turns.size());
}

void BatchStream::seek(BatchPosition position) {
  require<InputError>(position.epoch >= 0 && position.batch >= 0, "batches", "no batch {} in epoch {}",
                      position.batch, position.epoch);
  make_plan(position.epoch);
  require<InputError>(position.batch < static_cast<int64_t>(plan_.turns.size()), "batches",
                      "no batch {} in epoch {}, which has {}: other sentences, another batch size or another seed",
                      position.batch, position.epoch, plan_.turns.size());
  position_ = position;
}

std::span<const int32_t> BatchStream::tokens(int64_t pair, Side side, std::vector<int32_t>& sampled) const {
  const auto ids = side == Side::source ? corpus_.source(pair) : corpus_.target(pair);
  const auto& dropout = side == Side::source ? options_.source_dropout : options_.target_dropout;
  if (!dropout) return ids;
  const uint64_t sentence = 2 * static_cast<uint64_t>(pair) + (side == Side::source ? 0 : 1);
  Random random(mix(options_.seed, sentence),
                mix(static_cast<uint64_t>(Purpose::sentences), static_cast<uint64_t>(position_.epoch)));
  sampled = dropout->sample(ids, random);
  const bool fits = options_.max_length == 0 || static_cast<int64_t>(sampled.size()) < options_.max_length;
  return fits ? std::span<const int32_t>(sampled) : ids;
}

Batch BatchStream::next() {
  make_plan(position_.epoch);
  const uint32_t turn = plan_.turns[static_cast<size_t>(position_.batch)];
  Batch batch;
  batch.position = position_;
  const BatchTokens& t = options_.tokens;
  const size_t source_extra = t.source.before.size() + t.source.after.size();
  const size_t target_extra = t.before_target.size() + 1;
  std::vector<std::span<const int32_t>> sources, targets;
  std::deque<std::vector<int32_t>> sampled;
  for (uint32_t i = plan_.begins[turn]; i < plan_.begins[turn + 1]; ++i) {
    const int64_t pair = plan_.order[i];
    batch.pairs.push_back(pair);
    sources.push_back(tokens(pair, Side::source, sampled.emplace_back()));
    targets.push_back(tokens(pair, Side::target, sampled.emplace_back()));
    batch.source_lengths.push_back(static_cast<int32_t>(sources.back().size() + source_extra));
    batch.target_lengths.push_back(static_cast<int32_t>(targets.back().size() + target_extra));
    batch.source_tokens += batch.source_lengths.back();
    batch.target_tokens += batch.target_lengths.back();
  }
  constexpr int32_t no_target = -1;
  TextFrame read = {.before = t.before_target, .after = {}};
  read.before.insert(read.before.begin(), t.bos);
  batch.source = pad_ids(sources, t.source, t.pad);
  batch.target_in = pad_ids(targets, read, t.pad);
  batch.target_out = pad_ids(targets, {.before = t.before_target, .after = {t.eos}}, no_target);
  if (++position_.batch == static_cast<int64_t>(plan_.turns.size())) position_ = {position_.epoch + 1, 0};
  return batch;
}

Tensor pad_ids(std::span<const std::span<const int32_t>> rows, const TextFrame& frame, int32_t pad) {
  const size_t extra = frame.before.size() + frame.after.size();
  size_t longest = 0;
  for (const auto row : rows) longest = std::max(longest, row.size() + extra);
  Tensor out = Tensor::empty({static_cast<int64_t>(rows.size()), static_cast<int64_t>(longest)}, DType::i32);
  int32_t* at = out.data<int32_t>();
  for (const auto row : rows) {
    int32_t* const end = at + longest;
    at = std::copy(frame.before.begin(), frame.before.end(), at);
    at = std::copy(row.begin(), row.end(), at);
    at = std::copy(frame.after.begin(), frame.after.end(), at);
    at = std::fill_n(at, end - at, pad);
  }
  return out;
}

}  // namespace qkv
