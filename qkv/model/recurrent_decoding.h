// Decoding with a recurrent decoder, BahdanauDecoder or LuongDecoder.
//
//     return std::make_unique<RecurrentDecoding<LuongDecoder>>(decoder, state, memory, functions);
//
// Rows at the same position that attend to equally many hypotheses of each source are computed together, as a group;
// rows that join, or get more tokens than others, are groups of their own.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/model/decoding.h"

namespace qkv {

template <class Decoder>
class RecurrentDecoding final : public Decoding {
 public:
  using State = typename Decoder::State;
  using Memory = typename Decoder::Memory;
  struct Functions {
    std::function<Variable(const Tensor& ids)> embed;      // i32 (R) -> (R,E)
    std::function<Tensor(const Variable& hidden)> logits;  // (R,W) -> (R,V)
  };

  // A row for each source. The decoder must outlive this.
  RecurrentDecoding(const Decoder& decoder, State state, Memory memory, Functions functions)
      : decoder_(decoder), functions_(std::move(functions)) {
    const int64_t sources = memory.values.dim(0);
    for (int64_t row = 0; row < sources; ++row) rows_.push_back({0, row});
    groups_.push_back({std::move(state), std::move(memory), sources});
  }

  using Decoding::extend;
  int64_t rows() const override { return std::ssize(rows_); }
  int64_t position(int64_t row) const override {
    return groups_[rows_[static_cast<size_t>(row)].group].state.position;
  }

  Tensor extend(std::span<const std::vector<int32_t>> tokens, Pass& pass) override {
    require(tokens.size() == rows_.size() && !rows_.empty(), "Decoding::extend",
            "there must be tokens for each of the {} rows, got {}", rows_.size(), tokens.size());
    for (const std::vector<int32_t>& of_row : tokens)
      require(!of_row.empty(), "Decoding::extend", "a row gets one token or more");
    const NoGrad guard;
    separate(tokens);
    Tensor hidden;  // (R,W)
    for (size_t g = 0; g < groups_.size(); ++g) {
      const std::vector<int64_t> members = members_of(g);
      const Tensor of_group = advance(groups_[g], members, tokens, pass).value();
      const int64_t W = of_group.dim(1);
      if (!hidden.defined()) hidden = Tensor::empty({rows(), W});
      for (size_t i = 0; i < members.size(); ++i)
        std::copy_n(of_group.data<float>() + static_cast<int64_t>(i) * W, W, hidden.data<float>() + members[i] * W);
    }
    return functions_.logits(hidden);
  }

  void reorder(std::span<const int64_t> source) override {
    std::vector<std::vector<int64_t>> from(groups_.size());
    std::vector<Row> rows;
    for (const int64_t row : source) {
      require(row >= 0 && row < this->rows(), "Decoding::reorder", "there are {} rows, got {}", this->rows(), row);
      const Row& old = rows_[static_cast<size_t>(row)];
      rows.push_back({old.group, std::ssize(from[old.group])});
      from[old.group].push_back(old.index);
    }
    std::vector<Group> groups;
    std::vector<size_t> renumbered(groups_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (from[g].empty()) continue;
      renumbered[g] = groups.size();
      groups.push_back(groups_[g].select(from[g]));
    }
    for (Row& row : rows) row.group = renumbered[row.group];
    rows_ = std::move(rows);
    groups_ = std::move(groups);
  }

  void join(Decoding& other) override {
    auto* same = dynamic_cast<RecurrentDecoding*>(&other);
    require(same && &same->decoder_ == &decoder_, "Decoding::join", "the rows must be of the same model");
    for (const Row& row : std::exchange(same->rows_, {})) rows_.push_back({row.group + groups_.size(), row.index});
    for (Group& group : std::exchange(same->groups_, {})) groups_.push_back(std::move(group));
  }

 private:
  struct Group {
    State state;
    Memory memory;
    int64_t rows;  // equally many, adjacent, of each source

    Group select(std::span<const int64_t> from) const {
      Group some = *this;
      some.rows = std::ssize(from);
      some.state.reorder(from);
      const int64_t sources = memory.values.dim(0), beam = rows / sources;
      std::vector<int64_t> first, counts;  // the sources of adjacent rows
      for (const int64_t row : from)
        if (first.empty() || first.back() != row / beam) {
          first.push_back(row / beam);
          counts.push_back(1);
        } else {
          ++counts.back();
        }
      if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) != counts.end()) {
        first.clear();
        for (const int64_t row : from) first.push_back(row / beam);
      }
      bool same = std::ssize(first) == sources;
      for (size_t i = 0; i < first.size() && same; ++i) same = first[i] == static_cast<int64_t>(i);
      if (!same) some.memory.reorder(first);
      return some;
    }
  };
  struct Row {
    size_t group;
    int64_t index;  // in the group
  };

  // The rows of a group, in its order.
  std::vector<int64_t> members_of(size_t group) const {
    std::vector<int64_t> members(static_cast<size_t>(groups_[group].rows));
    for (size_t r = 0; r < rows_.size(); ++r)
      if (rows_[r].group == group) members[static_cast<size_t>(rows_[r].index)] = static_cast<int64_t>(r);
    return members;
  }

  // Rows of a group that get unequally many tokens become groups of their own.
  void separate(std::span<const std::vector<int32_t>> tokens) {
    for (size_t g = 0, before = groups_.size(); g < before; ++g) {
      std::map<size_t, std::vector<int64_t>> by_count;  // rows
      for (const int64_t row : members_of(g)) by_count[tokens[static_cast<size_t>(row)].size()].push_back(row);
      if (by_count.size() == 1) continue;
      const Group whole = groups_[g];
      for (auto part = by_count.begin(); part != by_count.end(); ++part) {
        const size_t to = part == by_count.begin() ? g : groups_.size();
        std::vector<int64_t> from;
        for (const int64_t row : part->second) from.push_back(rows_[static_cast<size_t>(row)].index);
        if (to == g) {
          groups_[g] = whole.select(from);
        } else {
          groups_.push_back(whole.select(from));
        }
        for (size_t i = 0; i < from.size(); ++i)
          rows_[static_cast<size_t>(part->second[i])] = {to, static_cast<int64_t>(i)};
      }
    }
  }

  // The hidden states after the last token of each row.
  Variable advance(Group& group, const std::vector<int64_t>& members, std::span<const std::vector<int32_t>> tokens,
                   Pass& pass) const {
    Variable hidden;
    const size_t count = tokens[static_cast<size_t>(members.front())].size();
    for (size_t t = 0; t < count; ++t) {
      std::vector<int32_t> ids;
      for (const int64_t row : members) ids.push_back(tokens[static_cast<size_t>(row)][t]);
      hidden = decoder_.step(functions_.embed(Tensor::from(ids, {group.rows})), group.state, group.memory, pass);
    }
    return hidden;
  }

  const Decoder& decoder_;
  Functions functions_;
  std::vector<Group> groups_;
  std::vector<Row> rows_;
};

}  // namespace qkv
