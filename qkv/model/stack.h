// A stack of blocks with the embedding below it and the norm above it: an encoder, a decoder, a language model.
//
//     Stack encoder(embedding, blocks, /*norm=*/NormOptions{});
//     Variable x = encoder.encode(ids, lengths, pass);                              // ids i32 (B,T), x (B,T,C)
//
//     StackRows rows = decoder.start(/*rows=*/B);
//     Tensor last = decoder.extend(rows, tokens, pass);                         // (B,C), of the last token of each row
//
// Parameters: layers.0, layers.1, ..., norm. Those of the embedding are listed by the model.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "qkv/base/threads.h"
#include "qkv/layer/block.h"
#include "qkv/layer/token_embedding.h"
#include "qkv/model/encoded.h"
#include "qkv/model/row_groups.h"

namespace qkv {

// What the blocks keep of the positions so far of some rows, which are at the same position.
struct StackGroup {
  int64_t rows = 0, position = 0;
  std::vector<AttentionCache> caches = {};  // per block
  std::vector<Block::Memory> memory = {};   // per block with cross-attention
  std::vector<int32_t> memory_lengths = {};

  bool has_memory() const { return !memory.empty(); }
  bool can_truncate() const {  // to anything but nothing
    return std::all_of(caches.begin(), caches.end(), [](const AttentionCache& c) { return c.can_truncate(); });
  }
  bool takes_several() const {  // tokens at once, with the bits of one by one
    return can_truncate() &&
           std::all_of(caches.begin(), caches.end(), [](const AttentionCache& c) { return c.takes_several(); });
  }
  int64_t rows_per_memory() const { return memory.empty() ? 1 : rows / memory.front().keys_values.k.dim(0); }
  // These rows. If they replace the group, it is moved here, so that caches can be reordered in place.
  static StackGroup select(StackGroup group, std::span<const int64_t> from, bool replaces);
};

class StackRows : public RowGroups<StackGroup> {
 public:
  using RowGroups::RowGroups;

 private:
  friend class Stack;
  // Of a step, kept so that the next one allocates nothing.
  std::vector<int64_t> lengths_, last_;
  std::vector<int32_t> ids_;
  std::vector<Block::SelfSegment> self_;
  std::vector<Block::CrossSegment> cross_;
};

class Stack final : public Module {
 public:
  // norm: of the result; none: no norm. The blocks' options have their variants and indices.
  Stack(const TokenEmbedding& embedding, const std::vector<BlockOptions>& blocks,
        const std::optional<NormOptions>& norm);

  // Processes that share sequences (pass.part) give whole ids and a mask of the whole, and get the rows of their part.
  Variable forward(const Tensor& ids, const MaskPtr& mask, Pass& pass,
                   const TokenEmbedding::Place& place = {}) const;
  Variable forward(const Tensor& ids, const MaskPtr& mask, const Encoded& encoded, Pass& pass) const;
  // forward() of sequences of which each sees itself alone: all of it, or causally. In inference threads share sequences rather
  // than products if there are enough (sequence_groups.h), and hidden states of padding may be zeros.
  Variable encode(const Tensor& ids, const std::vector<int32_t>& lengths, Pass& pass,
                  const Tensor& types = {}) const;
  Variable forward_causal(const Tensor& ids, Pass& pass) const;

  // Decoding. Rows begin empty; with an encoder there is one for each of its sentences.
  StackRows start(int64_t rows) const;
  StackRows start(const Encoded& encoded) const;
  // Adds tokens to the rows, one or more to each, and returns the outputs (N,C) for the last outputs[r] ones of each row r;
  // none: for the last one. The result of a row does not depend on the others.
  Tensor extend(StackRows& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass,
                std::span<const int64_t> outputs = {}) const;
  // Every row keeps the first lengths[r] of its positions.
  void truncate(StackRows& rows, std::span<const int64_t> lengths) const;

  // The longest sequence for which the cached keys of all blocks stay valid: AttentionMechanism::cache_valid_until().
  // None: any.
  std::optional<int64_t> cache_valid_until() const { return cache_valid_until_; }
  // Whether the result of a position depends on how many follow it: AttentionMechanism::depends_on_length().
  bool depends_on_length() const { return depends_on_length_; }

  void list(ModuleContents& contents) const override;

  TokenEmbedding embedding;
  std::vector<Block> blocks;
  std::optional<Norm> norm;
  CacheFormat cache_format = CacheFormat::f32;  // of keys and values in decoding

 private:
  using Masks = FunctionRef<MaskPtr(int64_t begin, int64_t end)>;  // of some sequences
  bool takes_groups(const Pass& pass) const;
  Tensor embedded(StackRows& rows, std::span<const std::vector<int32_t>> tokens, int64_t N, Pass& pass) const;
  static void list_segments(StackRows& rows, size_t block);
  Variable forward_in_groups(const Tensor& ids, std::span<const int32_t> lengths, Masks masks, Pass& pass,
                             const Tensor& types) const;

  std::optional<int64_t> cache_valid_until_;
  bool depends_on_length_ = false;
};

}  // namespace qkv
