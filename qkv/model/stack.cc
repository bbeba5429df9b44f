#include "qkv/model/stack.h"

#include <algorithm>
#include <utility>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/autograd/profile.h"
#include "qkv/autograd/recompute.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/layer/head_ablation.h"
#include "qkv/model/sequence_groups.h"

namespace qkv {

namespace {

Block::Memory select(const Block::Memory& memory, std::span<const int64_t> from, const MaskPtr& mask,
                     const Tensor& lengths) {
  Block::Memory some = memory;
  some.keys_values.reorder(from);
  some.keys_values.lengths = lengths;
  some.mask = mask;
  return some;
}

// Whether rows are those of all sentences, in their order.
bool use_all(std::span<const int64_t> rows, int64_t rows_of_each, int64_t sentences) {
  int64_t last = -1;
  for (const int64_t row : rows) {
    const int64_t sentence = row / rows_of_each;
    if (sentence != last && sentence != last + 1) return false;
    last = sentence;
  }
  return last + 1 == sentences;
}

// The output of a block, which backward() computes again from its inputs if the pass says so: then with the same dropouts, and
// without a second entry in the log.
template <class Compute>
Variable output_of(std::vector<Variable> inputs, Pass& pass, Compute compute) {
  if (!pass.recompute) return compute(inputs, pass);
  Pass again = pass;
  again.log = nullptr;
  return recompute(std::move(inputs), [compute, again, now = &pass](std::span<const Variable> in) mutable {
    if (Pass* const first = std::exchange(now, nullptr)) return compute(in, *first);
    Pass copy = again;
    return compute(in, copy);
  });
}

}  // namespace

// A copy of all rows in their order would share the caches of a group that stays.
StackGroup StackGroup::select(StackGroup some, std::span<const int64_t> from, bool replaces) {
  const int64_t rows_per_memory = some.rows_per_memory();
  if (!replaces || !are_all_rows(from, some.rows))
    for (AttentionCache& cache : some.caches) cache.reorder(from);
  some.rows = static_cast<int64_t>(from.size());
  if (some.memory.empty()) return some;
  if (use_all(from, rows_per_memory, std::ssize(some.memory_lengths))) return some;
  std::vector<int64_t> sentences;
  for (const int64_t row : from)
    if (const int64_t sentence = row / rows_per_memory; sentences.empty() || sentences.back() != sentence)
      sentences.push_back(sentence);
  std::vector<int32_t> lengths_of_some;
  lengths_of_some.reserve(sentences.size());
  for (const int64_t sentence : sentences)
    lengths_of_some.push_back(some.memory_lengths[static_cast<size_t>(sentence)]);
  some.memory_lengths = std::move(lengths_of_some);
  const MaskPtr mask = padding(some.memory_lengths);
  const Tensor lengths = Tensor::from(some.memory_lengths, {static_cast<int64_t>(sentences.size())});
  for (Block::Memory& m : some.memory) m = qkv::select(m, sentences, mask, lengths);
  return some;
}

Stack::Stack(const TokenEmbedding& tokens, const std::vector<BlockOptions>& options,
             const std::optional<NormOptions>& final_norm)
    : embedding(tokens) {
  for (const BlockOptions& o : options) {
    blocks.emplace_back(o);
    depends_on_length_ = depends_on_length_ || o.self_attention.depends_on_length();
    if (const std::optional<int64_t> length = o.self_attention.cache_valid_until())
      cache_valid_until_ = std::min(cache_valid_until_.value_or(*length), *length);
  }
  for (size_t n = blocks.size(); n-- > 1;)
    for (size_t earlier = n; earlier-- > 0;)
      blocks[n].self_attention.share_parameters_of(blocks[earlier].self_attention);
  if (final_norm) norm.emplace(Axis(embedding.width(), "C"), *final_norm);
}

Variable Stack::forward(const Tensor& ids, const MaskPtr& mask, Pass& pass,
                        const TokenEmbedding::Place& place) const {
  require<UsageError>(
      pass.part.is_whole() || (!depends_on_length_ && !cache_valid_until_), "Stack",
      "mechanisms that depend on the length of the sequence need whole sequences, and processes that "
      "share a sequence have parts; a rotary scaling may be given its length");
  Variable x = embedding.forward(pass.part.of(ids),
                                 {.first_position = place.first_position,
                                  .positions = pass.part.positions(ids, place.positions),
                                  .types = pass.part.of(place.types)},
                                 pass);
  for (const Block& block : blocks)
    x = output_of({x}, pass,
                  [&block, mask](std::span<const Variable> in, Pass& p) { return block.forward(in[0], mask, p); });
  return norm ? norm->forward(x) : x;
}

Variable Stack::forward(const Tensor& ids, const MaskPtr& mask, const Encoded& encoded, Pass& pass) const {
  require<UsageError>(pass.part.is_whole(), "Stack", "a decoder with an encoder needs whole sequences");
  Variable x = embedding.forward(ids, {}, pass);
  for (const Block& block : blocks)
    x = output_of({x, encoded.memory}, pass,
                  [&block, mask, lengths = encoded.lengths](std::span<const Variable> in, Pass& p) {
                    return block.forward(in[0], mask, block.memory(in[1], lengths), p);
                  });
  return norm ? norm->forward(x) : x;
}

// Whether sequences may be computed by other threads and without the padding of the longest ones.
bool Stack::takes_groups(const Pass& pass) const {
  return !recording() && !pass.training && !pass.log && !pass.input.has_value() && pass.part.is_whole() &&
         !depends_on_length_ && !cache_valid_until_ && !is_profiling() && !are_heads_ablated();
}

Variable Stack::forward_in_groups(const Tensor& ids, std::span<const int32_t> lengths, Masks masks, Pass& pass,
                                  const Tensor& types) const {
  const int64_t B = ids.dim(0), T = ids.dim(1);
  std::vector<SequenceGroup> groups;
  const bool agree =
      std::ssize(lengths) == B && (!types.defined() || types.shape() == ids.shape());  // or forward() fails
  if (takes_groups(pass) && agree) groups = sequence_groups(lengths, threads());
  if (groups.empty()) return forward(ids, masks(0, std::ssize(lengths)), pass, {.types = types});
  Tensor out = Tensor::empty({B, T, embedding.width()});
  parallel_for(std::ssize(groups), [&](int64_t n) {
    const NoGrad guard;  // of this thread
    const SequenceGroup& g = groups[static_cast<size_t>(n)];
    const int64_t longest =
        std::clamp<int64_t>(g.longest, std::min<int64_t>(T, 2), T);  // one token is computed otherwise
    const auto rows = [&](const Tensor& t) {
      return t.defined() ? t.slice(0, g.begin, g.end).slice(1, 0, longest).contiguous_copy() : t;
    };
    Pass own = pass;
    const Tensor x = forward(rows(ids), masks(g.begin, g.end), own, {.types = rows(types)}).value();
    const Tensor to = out.slice(0, g.begin, g.end);
    to.slice(1, 0, longest).copy_from(x);
    to.slice(1, longest, T).fill(0);
  });
  return out;
}

Variable Stack::encode(const Tensor& ids, const std::vector<int32_t>& lengths, Pass& pass,
                       const Tensor& types) const {
  const auto masks = [&](int64_t begin, int64_t end) {
    return padding(std::vector(lengths.begin() + begin, lengths.begin() + end));
  };
  return forward_in_groups(ids, lengths, masks, pass, types);
}

Variable Stack::forward_causal(const Tensor& ids, Pass& pass) const {
  const std::vector<int32_t> lengths(static_cast<size_t>(ids.dim(0)), static_cast<int32_t>(ids.dim(1)));
  return forward_in_groups(ids, lengths, [](int64_t, int64_t) { return causal(); }, pass, {});
}

StackRows Stack::start(int64_t rows) const {
  return StackRows(
      {.rows = rows, .caches = std::vector<AttentionCache>(blocks.size(), AttentionCache(cache_format))});
}

StackRows Stack::start(const Encoded& encoded) const {
  StackRows all = start(static_cast<int64_t>(encoded.lengths.size()));
  const NoGrad guard;
  for (const Block& block : blocks) {
    Block::Memory memory = block.memory(encoded.memory, encoded.lengths);
    if (cache_format != CacheFormat::f32) memory.keys_values.hold_as(cache_format);
    all.groups().front().memory.push_back(std::move(memory));
  }
  all.groups().front().memory_lengths = encoded.lengths;
  return all;
}

Tensor Stack::extend(StackRows& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass,
                     std::span<const int64_t> outputs) const {
  require(static_cast<int64_t>(tokens.size()) == rows.count() && !tokens.empty(), "Stack::extend",
          "there must be tokens for each of {} rows, got {}", rows.count(), tokens.size());
  std::vector<int64_t>&lengths = rows.lengths_, &last = rows.last_;  // last: rows of x of the last tokens
  lengths.clear();
  last.clear();
  int64_t N = 0;
  for (const std::vector<int32_t>& row : tokens) {
    require(!row.empty(), "Stack::extend", "every row must get at least one token");
    lengths.push_back(static_cast<int64_t>(row.size()));
    N += lengths.back();
    const int64_t count = outputs.empty() ? 1 : outputs[lengths.size() - 1];
    for (int64_t i = N - count; i < N; ++i) last.push_back(i);
  }
  const NoGrad guard;
  rows.split_by_length(lengths);
  Variable x = embedded(rows, tokens, N, pass);
  for (size_t n = 0; n < blocks.size(); ++n) {
    list_segments(rows, n);
    x = blocks[n].extend(x, rows.self_, rows.cross_, pass);
  }
  size_t row = 0;
  for (StackGroup& group : rows.groups()) {
    group.position += lengths[row];
    row += static_cast<size_t>(group.rows);
  }
  if (N > std::ssize(last)) x = gather_rows(x.value(), last);
  return (norm ? norm->forward(x) : x).value();
}

// The new tokens of all groups: (N,C).
Tensor Stack::embedded(StackRows& rows, std::span<const std::vector<int32_t>> tokens, int64_t N, Pass& pass) const {
  const int64_t C = embedding.width();
  Tensor all;
  int64_t begin = 0;
  size_t row = 0;
  for (const StackGroup& group : rows.groups()) {
    const int64_t length = rows.lengths_[row];
    std::vector<int32_t>& ids = rows.ids_;
    ids.clear();
    for (int64_t r = 0; r < group.rows; ++r, ++row) ids.insert(ids.end(), tokens[row].begin(), tokens[row].end());
    const Variable x =
        embedding.forward(Tensor::from(ids, {group.rows, length}), {.first_position = group.position}, pass);
    if (rows.groups().size() == 1) return x.value().reshape({N, C});
    if (!all.defined()) all = Tensor::empty({N, C});
    all.slice(0, begin, begin + group.rows * length).reshape(x.shape()).copy_from(x.value());
    begin += group.rows * length;
  }
  return all;
}

// Of a block.
void Stack::list_segments(StackRows& rows, size_t block) {
  rows.self_.clear();
  rows.cross_.clear();
  size_t row = 0;
  for (StackGroup& group : rows.groups()) {
    const int64_t length = rows.lengths_[row];
    row += static_cast<size_t>(group.rows);
    rows.self_.push_back({.rows = group.rows, .length = length, .cache = &group.caches[block]});
    if (!group.has_memory()) continue;
    const Block::Memory& memory = group.memory[block];
    rows.cross_.push_back({.rows = group.rows,
                           .length = length,
                           .memory = &memory.keys_values,
                           .mask = memory.mask,
                           .position = group.caches[block].length()});
  }
}

void Stack::truncate(StackRows& rows, std::span<const int64_t> lengths) const {
  rows.split_by_length(lengths);
  size_t row = 0;
  for (StackGroup& group : rows.groups()) {
    group.position = lengths[row];
    row += static_cast<size_t>(group.rows);
    for (AttentionCache& cache : group.caches) cache.truncate(group.position);
  }
}

void Stack::list(ModuleContents& contents) const {
  for (size_t n = 0; n < blocks.size(); ++n) contents.child(fmt::format("layers.{}", n), blocks[n]);
  if (norm) contents.child("norm", *norm);
}

}  // namespace qkv
