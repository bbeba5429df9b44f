#include "qkv/decode/prompt_cache.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace qkv {
namespace {

int64_t whole_pieces(int64_t tokens) { return tokens / PromptRow::piece * PromptRow::piece; }

// The length until which cached keys stay valid: AttentionMechanism::cache_valid_until().
std::optional<int64_t> cache_valid_until(const ModelConfig& config) {
  std::optional<int64_t> shortest;
  for (const AttentionPattern::Group& group : config.transformer().self_attention.decoder.groups())
    if (const auto length = group.variant.cache_valid_until())
      shortest = std::min(*length, shortest.value_or(*length));
  return shortest;
}

}  // namespace

PromptCache::~PromptCache() { exchange(nullptr); }

std::unique_ptr<PromptCache::Kept> PromptCache::exchange(std::unique_ptr<Kept> kept) {
  return std::unique_ptr<Kept>(kept_.exchange(kept.release()));
}

PromptRow::PromptRow(std::shared_ptr<const CausalTransformer> model, std::vector<int32_t> prompt,
                     const PromptRowOptions& options)
    : model_(std::move(model)), prompt_(std::move(prompt)), prompt_tokens_(std::ssize(prompt_)), options_(options) {
  if (!reads_in_pieces()) options_.cache = nullptr;
  if (options_.cache) take();
  if (!row_) row_ = model_->start(1);
  if (options_.cache) read();
}

bool PromptRow::reads_in_pieces() const {
  const ModelConfig& config = model_->config();
  return !config.depends_on_length() || cache_valid_until(config);
}

// What was kept, if the prompt begins with a piece of it.
void PromptRow::take() {
  std::unique_ptr<PromptCache::Kept> kept = options_.cache->exchange(nullptr);
  if (!kept || kept->model != model_) return;
  const auto same = std::ranges::mismatch(kept->ids, prompt_).in1 - kept->ids.begin();
  const int64_t length = whole_pieces(std::min<int64_t>(same, prompt_tokens() - 1));
  const std::optional<int64_t> limit = cache_valid_until(model_->config());
  if (length == 0 || (limit && length <= *limit && prompt_tokens() > *limit)) return;
  kept->row->truncate(std::vector{length});
  reused_ = kept->row->position(0);
  row_ = std::move(kept->row);
}

// All but the last piece, which is left for the first step of the generation. Where longer texts have other keys at all of
// their positions, the first piece is what passes that length, because reading that begins again.
void PromptRow::read() {
  const std::optional<int64_t> limit = cache_valid_until(model_->config());
  int64_t end = row_->position(0) + piece;
  if (limit && prompt_tokens() > *limit && end <= *limit) end = whole_pieces(*limit) + piece;
  for (; end < prompt_tokens(); end += piece) {
    const auto begin = prompt_.begin() + row_->position(0);
    Pass pass;
    row_->extend(std::vector<std::vector<int32_t>>{{begin, prompt_.begin() + end}}, pass);
  }
}

void PromptRow::give_back() noexcept {
  std::unique_ptr<Decoding> row = std::move(row_);
  if (!row || !options_.cache) return;
  try {
    if (row->position(0) >= prompt_tokens()) keep(std::move(row));
  } catch (const std::exception&) {
    options_.cache->exchange(nullptr);  // it had nothing, or another prompt
  }
}

void PromptRow::keep(std::unique_ptr<Decoding> row) {
  const int64_t length = whole_pieces(std::min(prompt_tokens(), options_.kept_tokens));
  row->truncate(std::vector{length});
  if (length == 0 || row->position(0) != length) return;
  prompt_.resize(static_cast<size_t>(length));
  options_.cache->exchange(
      std::make_unique<PromptCache::Kept>(PromptCache::Kept{model_, std::move(prompt_), std::move(row)}));
}

}  // namespace qkv
