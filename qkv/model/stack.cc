#include "qkv/model/stack.h"

#include <algorithm>
#include <numeric>

#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"

namespace qkv {

// ---- Rows ----

int64_t StackRows::count() const {
  return std::accumulate(groups_.begin(), groups_.end(), int64_t{0},
                         [](int64_t sum, const Group& group) { return sum + group.rows; });
}

int64_t StackRows::position(int64_t row) const {
  for (const Group& group : groups_) {
    if (row < group.rows) return group.position;
    row -= group.rows;
  }
  fail("StackRows::position", "there is no such row");
}

void StackRows::join(StackRows other) {
  for (Group& group : other.groups_) groups_.push_back(std::move(group));
}

namespace {

bool is_identity(std::span<const int64_t> from, int64_t rows) {
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != static_cast<int64_t>(i)) return false;
  return static_cast<int64_t>(from.size()) == rows;
}

Block::Memory select(const Block::Memory& memory, std::span<const int64_t> from, const MaskPtr& mask,
                     const Tensor& lengths) {
  const auto rows = [&](const Variable& x) { return Variable(gather_rows(x.value(), from)); };
  const MultiHeadAttention::KeyValues& all = memory.keys_values;
  return {{rows(all.k), rows(all.v), lengths}, mask};
}

}  // namespace

// `from` has equally many adjacent rows for each row of the memory. A copy of all rows in their order would share the
// caches, so `replaces` is only for a group that replaces this one.
StackRows::Group StackRows::Group::select(std::span<const int64_t> from, bool replaces) const {
  Group some = *this;
  some.rows = static_cast<int64_t>(from.size());
  if (!replaces || !is_identity(from, rows))
    for (AttentionCache& cache : some.caches) cache.reorder(from);
  if (memory.empty()) return some;
  std::vector<int64_t> sentences;
  for (const int64_t row : from)
    if (const int64_t sentence = row / rows_per_memory(); sentences.empty() || sentences.back() != sentence)
      sentences.push_back(sentence);
  if (is_identity(sentences, static_cast<int64_t>(memory_lengths.size()))) return some;
  some.memory_lengths.clear();
  for (const int64_t sentence : sentences)
    some.memory_lengths.push_back(memory_lengths[static_cast<size_t>(sentence)]);
  const MaskPtr mask = padding(some.memory_lengths);
  const Tensor lengths = Tensor::from(some.memory_lengths, {static_cast<int64_t>(sentences.size())});
  for (Block::Memory& m : some.memory) m = qkv::select(m, sentences, mask, lengths);
  return some;
}

void StackRows::reorder(std::span<const int64_t> source) {
  const int64_t rows = count();
  struct Place {
    size_t group;
    int64_t row, sentence;
  };
  std::vector<Place> places;
  for (const int64_t row : source) {
    require(row >= 0 && row < rows, "StackRows::reorder", "there are {} rows, got {}", rows, row);
    Place place = {0, row, 0};
    for (; place.row >= groups_[place.group].rows; ++place.group) place.row -= groups_[place.group].rows;
    place.sentence = place.row / groups_[place.group].rows_per_memory();
    places.push_back(place);
  }
  std::vector<int64_t> uses(groups_.size());
  for (const Place& place : places) ++uses[place.group];
  // Runs of rows of one sentence; runs of equal length of the same group become a group.
  std::vector<Group> groups;
  std::vector<int64_t> from;
  size_t begin = 0, run = 0;  // of the group; the number of rows of each of its sentences
  const auto add = [&] {
    if (from.empty()) return;
    const size_t group = places[begin].group;
    groups.push_back(groups_[group].select(from, uses[group] == static_cast<int64_t>(from.size())));
    from.clear();
  };
  for (size_t i = 0; i < places.size();) {
    size_t end = i + 1;
    while (end < places.size() && places[end].group == places[i].group &&
           places[end].sentence == places[i].sentence)
      ++end;
    const bool has_memory = !groups_[places[i].group].memory.empty();
    if (places[i].group != places[begin].group || (has_memory && i > begin && end - i != run)) {
      add();
      begin = i;
    }
    run = end - i;
    for (; i < end; ++i) from.push_back(places[i].row);
  }
  add();
  groups_ = std::move(groups);
}

void StackRows::split_by_length(std::span<const int64_t> lengths) {
  std::vector<Group> groups;
  for (Group& group : groups_) {
    const std::span<const int64_t> own = lengths.subspan(0, static_cast<size_t>(group.rows));
    lengths = lengths.subspan(own.size());
    for (size_t begin = 0, end = 0; begin < own.size(); begin = end) {
      while (end < own.size() && own[end] == own[begin]) ++end;
      if (end - begin == own.size()) {
        groups.push_back(std::move(group));
        continue;
      }
      require(static_cast<int64_t>(end) % group.rows_per_memory() == 0, "Stack::extend",
              "all rows of a sentence must get equally many tokens");
      std::vector<int64_t> from(end - begin);
      std::iota(from.begin(), from.end(), static_cast<int64_t>(begin));
      groups.push_back(group.select(from));
    }
  }
  groups_ = std::move(groups);
}

// ---- Stack ----

Stack::Stack(const TokenEmbedding& tokens, const std::vector<BlockOptions>& options,
             const std::optional<NormOptions>& final_norm)
    : embedding(tokens) {
  for (const BlockOptions& o : options) {
    blocks.emplace_back(o);
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
  Variable x = embedding.forward(ids, place, pass);
  for (const Block& block : blocks) x = block.forward(x, mask, pass);
  return norm ? norm->forward(x) : x;
}

Variable Stack::forward(const Tensor& ids, const MaskPtr& mask, const Encoded& encoded, Pass& pass) const {
  Variable x = embedding.forward(ids, {}, pass);
  for (const Block& block : blocks) x = block.forward(x, mask, block.memory(encoded.memory, encoded.lengths), pass);
  return norm ? norm->forward(x) : x;
}

StackRows Stack::start(int64_t rows) const {
  StackRows all;
  all.groups_.push_back({.rows = rows, .caches = std::vector<AttentionCache>(blocks.size()), .memory = {}});
  return all;
}

StackRows Stack::start(const Encoded& encoded) const {
  StackRows all = start(static_cast<int64_t>(encoded.lengths.size()));
  const NoGrad guard;
  for (const Block& block : blocks)
    all.groups_.front().memory.push_back(block.memory(encoded.memory, encoded.lengths));
  all.groups_.front().memory_lengths = encoded.lengths;
  return all;
}

Tensor Stack::extend(StackRows& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass) const {
  require(static_cast<int64_t>(tokens.size()) == rows.count() && !tokens.empty(), "Stack::extend",
          "there must be tokens for each of {} rows, got {}", rows.count(), tokens.size());
  std::vector<int64_t> lengths, last;  // row of x of the last token
  int64_t N = 0;
  for (const std::vector<int32_t>& row : tokens) {
    require(!row.empty(), "Stack::extend", "every row must get at least one token");
    lengths.push_back(static_cast<int64_t>(row.size()));
    last.push_back((N += lengths.back()) - 1);
  }
  const NoGrad guard;
  rows.split_by_length(lengths);
  const int64_t C = embedding.width();
  Tensor embedded;  // (N,C), of all groups
  std::vector<std::vector<Block::Segment>> segments(blocks.size());
  int64_t begin = 0;
  size_t row = 0;
  for (StackRows::Group& group : rows.groups_) {
    const int64_t length = lengths[row];
    std::vector<int32_t> ids;
    for (int64_t r = 0; r < group.rows; ++r, ++row) ids.insert(ids.end(), tokens[row].begin(), tokens[row].end());
    const Variable x =
        embedding.forward(Tensor::from(ids, {group.rows, length}), {.first_position = group.position}, pass);
    if (rows.groups_.size() == 1) {
      embedded = x.value().reshape({N, C});
    } else {
      if (!embedded.defined()) embedded = Tensor::empty({N, C});
      embedded.slice(0, begin, begin + group.rows * length).reshape(x.shape()).copy_from(x.value());
    }
    for (size_t n = 0; n < blocks.size(); ++n)
      segments[n].push_back({.rows = group.rows,
                             .length = length,
                             .cache = &group.caches[n],
                             .memory = group.memory.empty() ? nullptr : &group.memory[n]});
    begin += group.rows * length;
    group.position += length;
  }
  Variable x = embedded;
  for (size_t n = 0; n < blocks.size(); ++n) x = blocks[n].extend(x, segments[n], pass);
  if (N > static_cast<int64_t>(tokens.size())) x = gather_rows(x.value(), last);
  return (norm ? norm->forward(x) : x).value();
}

void Stack::list(ModuleContents& contents) const {
  for (size_t n = 0; n < blocks.size(); ++n) contents.child(fmt::format("layers.{}", n), blocks[n]);
  if (norm) contents.child("norm", *norm);
}

}  // namespace qkv
