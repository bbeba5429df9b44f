// A stack of blocks with the embedding below it and the norm above it: an encoder, a decoder, a language model.
//
//     Stack encoder(embedding, blocks, /*norm=*/NormOptions{});
//     Variable x = encoder.forward(ids, padding(lengths), pass);                    // ids i32 (B,T), x (B,T,C)
//
//     StackRows rows = decoder.start(/*rows=*/B);
//     Tensor last = decoder.extend(rows, tokens, pass);                         // (B,C), of the last token of each row
//
// Parameters: layers.0, layers.1, ..., norm. Those of the embedding are listed by the model.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qkv/layer/block.h"
#include "qkv/layer/token_embedding.h"
#include "qkv/model/encoded.h"

namespace qkv {

// Rows of tokens that grow: what their blocks keep of the positions so far. Rows that are at the same position form
// groups that are computed together.
class StackRows {
 public:
  int64_t count() const;
  int64_t position(int64_t row) const;  // the number of its tokens so far

  // Row r continues row source[r]. Rows may be repeated, dropped and permuted; this is fast if the rows of a sentence
  // stay adjacent.
  void reorder(std::span<const int64_t> source);
  // The rows of the other follow these.
  void join(StackRows other);

 private:
  friend class Stack;
  struct Group {
    int64_t rows = 0, position = 0;
    std::vector<AttentionCache> caches;  // per block
    std::vector<Block::Memory> memory;   // per block with cross-attention; adjacent rows share a row of it
    std::vector<int32_t> memory_lengths = {};
    Group select(std::span<const int64_t> from, bool replaces = false) const;
    int64_t rows_per_memory() const { return memory.empty() ? 1 : rows / memory.front().keys_values.k.dim(0); }
  };
  // Groups whose rows all get equally many tokens.
  void split_by_length(std::span<const int64_t> lengths);

  std::vector<Group> groups_;
};

class Stack final : public Module {
 public:
  // norm: of the result; none: no norm. The blocks' options have their variants and indices.
  Stack(const TokenEmbedding& embedding, const std::vector<BlockOptions>& blocks,
        const std::optional<NormOptions>& norm);

  Variable forward(const Tensor& ids, const MaskPtr& mask, Pass& pass,
                   const TokenEmbedding::Place& place = {}) const;
  Variable forward(const Tensor& ids, const MaskPtr& mask, const Encoded& encoded, Pass& pass) const;

  // Decoding. Rows begin empty; with an encoder there is one for each of its sentences.
  StackRows start(int64_t rows) const;
  StackRows start(const Encoded& encoded) const;
  // Adds tokens to the rows, one or more to each, and returns the output for the last one of each: (rows,C). The result
  // of a row does not depend on the others.
  Tensor extend(StackRows& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass) const;

  // The longest sequence for which the cached keys of all blocks stay valid: AttentionMechanism::cache_valid_until().
  // None: any.
  std::optional<int64_t> cache_valid_until() const { return cache_valid_until_; }

  void list(ModuleContents& contents) const override;

  TokenEmbedding embedding;
  std::vector<Block> blocks;
  std::optional<Norm> norm;

 private:
  std::optional<int64_t> cache_valid_until_;
};

}  // namespace qkv
