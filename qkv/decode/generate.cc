#include "qkv/decode/generate.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

void check(const GenerateOptions& options, int64_t rows, size_t prompts) {
  check_options(options.sampling);
  require<UsageError>(options.max_tokens >= 1, "generate", "max-tokens must be at least 1, got {}",
                      options.max_tokens);
  require<UsageError>(options.min_tokens >= 0, "generate", "min-tokens must be at least 0, got {}",
                      options.min_tokens);
  require(rows == static_cast<int64_t>(prompts), "generate", "{} rows need a prompt each, got {}", rows, prompts);
  require(options.streams.empty() || options.streams.size() == prompts, "generate",
          "{} prompts need a stream each, got {}", prompts, options.streams.size());
}

}  // namespace

Generation::Generation(Decoding& rows, std::span<const std::vector<int32_t>> prompts,
                       const GenerateOptions& options)
    : rows_(rows), options_(options), before_eos_(options.sampling), found_(prompts.size()) {
  check(options, rows.rows(), prompts.size());
  before_eos_.suppress_tokens.insert(before_eos_.suppress_tokens.end(), options.eos.begin(), options.eos.end());
  for (size_t r = 0; r < prompts.size(); ++r) {
    require(!prompts[r].empty(), "generate", "prompt {} is empty", r);
    live_.push_back({r, prompts[r]});
    tokens_.push_back(prompts[r]);
  }
  // A prompt that fills the model has no continuation.
  keep([&](size_t i) { return !at_limit(live_[i]); });
}

bool Generation::step(const OnToken& on_token) {
  if (live_.empty()) return false;
  const NoGrad guard;
  Pass pass;
  const std::vector<TokenChoice> chosen = choose(rows_.extend(tokens_, pass));
  for (size_t i = 0; i < live_.size(); ++i) tokens_[i] = {chosen[i].id};
  keep([&](size_t i) { return add(live_[i], chosen[i], on_token); });
  return !live_.empty();
}

bool Generation::at_limit(const Live& live) {
  const bool full =
      options_.position_limit > 0 && static_cast<int64_t>(live.history.size()) > options_.position_limit;
  if (full) found_[live.row].end = Generated::End::position_limit;
  return full;
}

std::vector<TokenChoice> Generation::choose(const Tensor& logits) const {
  std::vector<SamplingRow> rows;
  for (const Live& live : live_)
    rows.push_back(
        {.history = live.history,
         .stream = options_.streams.empty() ? options_.first_stream + live.row : options_.streams[live.row],
         .position = static_cast<int64_t>(live.history.size())});
  // All rows have equally many new tokens.
  const bool early = static_cast<int64_t>(found_[live_.front().row].ids.size()) < options_.min_tokens;
  return sample_tokens(logits, rows, early ? before_eos_ : options_.sampling);
}

// Whether the row continues.
bool Generation::add(Live& live, const TokenChoice& token, const OnToken& on_token) {
  Generated& of = found_[live.row];
  of.log_probability += token.log_probability;
  if (std::find(options_.eos.begin(), options_.eos.end(), token.id) != options_.eos.end()) {
    of.end = Generated::End::eos;
    return false;
  }
  of.ids.push_back(token.id);
  live.history.push_back(token.id);
  if (on_token && !on_token(live.row, token.id)) {
    of.end = Generated::End::stopped;
    return false;
  }
  return static_cast<int64_t>(of.ids.size()) < options_.max_tokens && !at_limit(live);
}

// Drops the rows for which `continues(i)` is false.
template <class Continues>
void Generation::keep(Continues continues) {
  std::vector<int64_t> rest;
  for (size_t i = 0; i < live_.size(); ++i)
    if (continues(i)) rest.push_back(static_cast<int64_t>(i));
  if (rest.size() == live_.size()) return;
  for (size_t i = 0; i < rest.size(); ++i) {
    const auto from = static_cast<size_t>(rest[i]);
    if (from == i) continue;
    live_[i] = std::move(live_[from]);
    tokens_[i] = std::move(tokens_[from]);
  }
  live_.resize(rest.size());
  tokens_.resize(rest.size());
  if (!rest.empty()) rows_.reorder(rest);
}

std::vector<Generated> generate(Decoding& rows, std::span<const std::vector<int32_t>> prompts,
                                const GenerateOptions& options, const OnToken& on_token) {
  Generation generation(rows, prompts, options);
  while (generation.step(on_token)) continue;
  return generation.found();
}

}  // namespace qkv
