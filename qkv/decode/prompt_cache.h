// Prompts of which the next one usually begins as the last one, as those of a conversation: what a causal model keeps of the
// tokens that they share (keys and values) is not computed again.
//
//     auto cache = std::make_shared<PromptCache>();
//     PromptRow row(model, prompt, {.cache = cache});
//     generate(row.decoding(), std::span(&prompt, 1), options);
//     row.give_back();                                             // for the next prompt; the destructor does it too
//     PromptRow(model, longer_prompt, {.cache = cache}).reused()   // the number of tokens that it need not read
//
// A prompt is read in pieces of 128 tokens, whatever the cache has, and whole pieces are used again: so the numbers are the
// same, bit for bit, with a cache and without. The tokens of an answer are read one by one while it is generated, which has
// other bits than a piece; they are read again in the next prompt. Of a model whose result depends on the length of its
// input (rotary positions with dynamic scaling) nothing is used again.
//
// The cache has the last prompt that was given back, at most `kept_tokens` of it. It may be used by several threads at once:
// one of them gets what it has.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "qkv/model/causal.h"

namespace qkv {

class PromptCache {
 public:
  PromptCache() = default;
  ~PromptCache();
  PromptCache(const PromptCache&) = delete;
  PromptCache& operator=(const PromptCache&) = delete;

 private:
  friend class PromptRow;
  struct Kept {
    std::shared_ptr<const CausalTransformer> model;
    std::vector<int32_t> ids;  // that the row has read
    std::unique_ptr<Decoding> row;
  };
  // An exchange instead of a lock, which a fork could leave locked.
  std::unique_ptr<Kept> exchange(std::unique_ptr<Kept> kept);

  std::atomic<Kept*> kept_ = nullptr;
};

struct PromptRowOptions {
  std::shared_ptr<PromptCache> cache = {};  // null: an empty row
  int64_t kept_tokens = 8192;
};

// A row of a model for one prompt, which has read its beginning.
class PromptRow {
 public:
  static constexpr int64_t piece = 128;  // tokens

  PromptRow(std::shared_ptr<const CausalTransformer> model, std::vector<int32_t> prompt,
            const PromptRowOptions& options = {});
  PromptRow(const PromptRow&) = delete;
  PromptRow& operator=(const PromptRow&) = delete;
  PromptRow(PromptRow&&) = default;
  PromptRow& operator=(PromptRow&&) = default;
  ~PromptRow() { give_back(); }

  Decoding& decoding() { return *row_; }
  int64_t prompt_tokens() const { return prompt_tokens_; }
  int64_t reused() const { return reused_; }
  // Afterwards there is no decoding(). Without a cache, without memory, or before all of the prompt was read, the row is only
  // freed.
  void give_back() noexcept;
  void free() { row_ = nullptr; }  // after an error in it

 private:
  void take();
  void read();
  void keep(std::unique_ptr<Decoding> row);
  bool reads_in_pieces() const;

  std::shared_ptr<const CausalTransformer> model_;
  std::vector<int32_t> prompt_;
  int64_t prompt_tokens_;
  PromptRowOptions options_;
  std::unique_ptr<Decoding> row_;
  int64_t reused_ = 0;
};

}  // namespace qkv
