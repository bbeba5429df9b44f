#include "qkv/decode/generate.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

// A row that has not ended.
struct Live {
  size_t row;                    // in the result
  std::vector<int32_t> history;  // prompt and continuation
};

class Generation {
 public:
  Generation(std::span<const std::vector<int32_t>> prompts, const GenerateOptions& options, const OnToken& on_token)
      : options_(options), on_token_(on_token), found_(prompts.size()) {
    before_eos_ = options.sampling;
    before_eos_.suppress_tokens.insert(before_eos_.suppress_tokens.end(), options.eos.begin(), options.eos.end());
    for (size_t r = 0; r < prompts.size(); ++r) {
      require(!prompts[r].empty(), "generate", "prompt {} is empty", r);
      live_.push_back({r, prompts[r]});
    }
  }

  void run(Decoding& rows) {
    std::vector<std::vector<int32_t>> tokens;
    for (const Live& live : live_) tokens.push_back(live.history);
    // A prompt that fills the model has no continuation.
    if (!keep(rows, tokens, [&](size_t i) { return !at_limit(live_[i]); })) return;
    Pass pass;
    while (true) {
      const std::vector<TokenChoice> chosen = choose(rows.extend(tokens, pass));
      for (size_t i = 0; i < live_.size(); ++i) tokens[i] = {chosen[i].id};
      if (!keep(rows, tokens, [&](size_t i) { return add(live_[i], chosen[i]); })) return;
    }
  }

  std::vector<Generated> take() { return std::move(found_); }

 private:
  bool at_limit(const Live& live) {
    const bool full =
        options_.position_limit > 0 && static_cast<int64_t>(live.history.size()) >= options_.position_limit;
    if (full) found_[live.row].end = Generated::End::position_limit;
    return full;
  }

  std::vector<TokenChoice> choose(const Tensor& logits) const {
    std::vector<SamplingRow> rows;
    for (const Live& live : live_)
      rows.push_back({.history = live.history,
                      .stream = options_.first_stream + live.row,
                      .position = static_cast<int64_t>(live.history.size())});
    // All rows have equally many new tokens.
    const bool early = static_cast<int64_t>(found_[live_.front().row].ids.size()) < options_.min_tokens;
    return sample_tokens(logits, rows, early ? before_eos_ : options_.sampling);
  }

  // Whether the row continues.
  bool add(Live& live, const TokenChoice& token) {
    Generated& of = found_[live.row];
    of.log_probability += token.log_probability;
    if (std::find(options_.eos.begin(), options_.eos.end(), token.id) != options_.eos.end()) {
      of.end = Generated::End::eos;
      return false;
    }
    of.ids.push_back(token.id);
    live.history.push_back(token.id);
    if (on_token_ && !on_token_(live.row, token.id)) {
      of.end = Generated::End::stopped;
      return false;
    }
    return static_cast<int64_t>(of.ids.size()) < options_.max_tokens && !at_limit(live);
  }

  // Drops the rows for which `continues(i)` is false; false when none is left.
  template <class Continues>
  bool keep(Decoding& rows, std::vector<std::vector<int32_t>>& tokens, Continues continues) {
    std::vector<int64_t> rest;
    for (size_t i = 0; i < live_.size(); ++i)
      if (continues(i)) rest.push_back(static_cast<int64_t>(i));
    if (rest.size() == live_.size()) return true;
    for (size_t i = 0; i < rest.size(); ++i) {
      const auto from = static_cast<size_t>(rest[i]);
      if (from == i) continue;
      live_[i] = std::move(live_[from]);
      tokens[i] = std::move(tokens[from]);
    }
    live_.resize(rest.size());
    tokens.resize(rest.size());
    if (!rest.empty()) rows.reorder(rest);
    return !rest.empty();
  }

  const GenerateOptions& options_;
  const OnToken& on_token_;
  SamplingOptions before_eos_;
  std::vector<Live> live_;
  std::vector<Generated> found_;
};

}  // namespace

std::vector<Generated> generate(Decoding& rows, std::span<const std::vector<int32_t>> prompts,
                                const GenerateOptions& options, const OnToken& on_token) {
  check_options(options.sampling);
  require<UsageError>(options.max_tokens >= 1, "generate", "max-tokens must be at least 1, got {}",
                      options.max_tokens);
  require<UsageError>(options.min_tokens >= 0, "generate", "min-tokens must be at least 0, got {}",
                      options.min_tokens);
  require(rows.rows() == static_cast<int64_t>(prompts.size()), "generate", "{} rows need a prompt each, got {}",
          rows.rows(), prompts.size());
  if (prompts.empty()) return {};
  const NoGrad guard;
  Generation generation(prompts, options, on_token);
  generation.run(rows);
  return generation.take();
}

}  // namespace qkv
