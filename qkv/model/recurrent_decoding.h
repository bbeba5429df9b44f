// Decoding with a recurrent decoder, BahdanauDecoder or LuongDecoder.
//
//     return std::make_unique<RecurrentDecoding<LuongDecoder>>(decoder, state, memory, RecurrentEnds{embed, output});
//
// Rows at the same position are computed together (row_groups.h).
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/layer/output_projection.h"
#include "qkv/model/decoding.h"
#include "qkv/model/row_groups.h"

namespace qkv {

// What is before the decoder and after it.
struct RecurrentEnds {
  std::function<Variable(const Tensor& ids)> embed;  // i32 (R) -> (R,E)
  const OutputProjection& output;                    // (R,W) -> (R,V)
};

template <class Decoder>
class RecurrentDecoding final : public Decoding {
 public:
  using State = typename Decoder::State;
  using Memory = typename Decoder::Memory;

  // A row for each source. The decoder and the output projection must outlive this.
  RecurrentDecoding(const Decoder& decoder, State state, Memory memory, RecurrentEnds ends)
      : decoder_(decoder),
        ends_(std::move(ends)),
        output_(ends_.output),
        rows_(Group{memory.values.dim(0), std::move(state), std::move(memory)}) {}

  int64_t rows() const override { return rows_.count(); }
  int64_t position(int64_t row) const override { return rows_.group_of(row).state.position; }
  void reorder(std::span<const int64_t> source) override { rows_.reorder(source); }

  void restrict_logits(std::span<const int32_t> tokens) override { output_ = ends_.output.of_tokens(tokens); }

  void join(Decoding& other) override {
    auto* same = dynamic_cast<RecurrentDecoding*>(&other);
    require(same && &same->decoder_ == &decoder_, "Decoding::join", "the rows must be of the same model");
    rows_.join(std::exchange(same->rows_, {}));
  }

 private:
  Tensor advance(std::span<const std::vector<int32_t>> tokens, Pass& pass) override {
    require(std::ssize(tokens) == rows() && !tokens.empty(), "Decoding::extend",
            "there must be tokens for each of the {} rows, got {}", rows(), tokens.size());
    std::vector<int64_t> lengths;
    for (const std::vector<int32_t>& of_row : tokens) {
      require(!of_row.empty(), "Decoding::extend", "a row gets one token or more");
      lengths.push_back(std::ssize(of_row));
    }
    const NoGrad guard;
    rows_.split_by_length(lengths);
    Tensor hidden;  // (R,W)
    int64_t begin = 0;
    for (Group& group : rows_.groups()) {
      const auto of_group = tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(group.rows));
      const Tensor last = advance(group, of_group, pass).value();
      const int64_t W = last.dim(1);
      if (!hidden.defined()) hidden = Tensor::empty({rows(), W});
      std::copy_n(last.data<float>(), group.rows * W, hidden.data<float>() + begin * W);
      begin += group.rows;
    }
    return hidden;
  }
  const OutputProjection& output() const override { return output_; }

  struct Group {
    int64_t rows;
    State state;
    Memory memory;

    bool has_memory() const { return true; }
    int64_t rows_per_memory() const { return rows / memory.values.dim(0); }
    static Group select(Group some, std::span<const int64_t> from, bool) {
      const int64_t rows_per_memory = some.rows_per_memory();
      some.rows = std::ssize(from);
      some.state.reorder(from);
      std::vector<int64_t> sources;  // of adjacent rows
      for (const int64_t row : from)
        if (const int64_t source = row / rows_per_memory; sources.empty() || sources.back() != source)
          sources.push_back(source);
      if (!are_all_rows(sources, some.memory.values.dim(0))) some.memory.reorder(sources);
      return some;
    }
  };

  // The hidden states after the last token of each row.
  Variable advance(Group& group, std::span<const std::vector<int32_t>> tokens, Pass& pass) const {
    Variable hidden;
    for (size_t t = 0; t < tokens.front().size(); ++t) {
      std::vector<int32_t> ids;
      for (const std::vector<int32_t>& row : tokens) ids.push_back(row[t]);
      hidden = decoder_.step(ends_.embed(Tensor::from(ids, {group.rows})), group.state, group.memory, pass);
    }
    return hidden;
  }

  const Decoder& decoder_;
  RecurrentEnds ends_;
  OutputProjection output_;  // of all tokens, or of some
  RowGroups<Group> rows_;
};

}  // namespace qkv
