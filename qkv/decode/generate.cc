#include "qkv/decode/generate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "qkv/attention/cache.h"
#include "qkv/base/error.h"
#include "qkv/decode/candidate_tokens.h"

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
    : rows_(rows), options_(options), before_eos_(options.sampling) {
  check(options, rows.rows(), prompts.size());
  before_eos_.suppress_tokens.insert(before_eos_.suppress_tokens.end(), options.eos.begin(), options.eos.end());
  add_prompts(rows, prompts);
}

void Generation::join(Decoding& rows, std::span<const std::vector<int32_t>> prompts,
                      std::span<const uint64_t> streams) {
  require(rows.rows() == std::ssize(prompts), "generate", "{} rows need a prompt each, got {}", rows.rows(),
          prompts.size());
  require(streams.size() == (options_.streams.empty() ? 0 : prompts.size()), "generate",
          "{} prompts need a stream each, or none if none was given before, got {}", prompts.size(),
          streams.size());
  options_.streams.insert(options_.streams.end(), streams.begin(), streams.end());
  if (live_.empty()) rows_.reorder({});  // the last rows are kept when they end
  rows_.join(rows);
  add_prompts(rows_, prompts);
}

// Of the last rows.
void Generation::add_prompts(const Decoding& rows, std::span<const std::vector<int32_t>> prompts) {
  for (size_t r = 0; r < prompts.size(); ++r) {
    const auto row = std::ssize(live_);
    require(!prompts[r].empty(), "generate", "prompt {} is empty", found_.size());
    const int64_t read = rows.position(row);
    require(read < std::ssize(prompts[r]), "generate", "prompt {} has {} tokens, of which {} were read",
            found_.size(), prompts[r].size(), read);
    live_.push_back({found_.size(), prompts[r]});
    tokens_.emplace_back(prompts[r].begin() + read, prompts[r].end());
    found_.emplace_back();
  }
  reads_prompts_ = true;
  // A prompt that fills the model has no continuation.
  keep([&](size_t i) { return !at_limit(live_[i]); });
}

std::vector<size_t> Generation::live() const {
  std::vector<size_t> rows;
  for (const Live& live : live_) rows.push_back(live.row);
  return rows;
}

bool Generation::step(const OnToken& on_token) {
  if (live_.empty()) return false;
  const NoGrad guard;
  const std::vector<bool> continues =
      ranks_logits() ? take_likeliest(on_token) : take_tokens(next_logits(), on_token);
  keep([&](size_t i) { return continues[i]; });
  return !live_.empty();
}

// After each of tokens_, of which only one remains of a prompt: (N,V).
Tensor Generation::next_logits() {
  Pass pass;
  if (!reads_prompts_) {
    if (!options_.proposer) return rows_.extend(tokens_, pass);
    propose();
    return rows_.extend_each(tokens_, pass);
  }
  reads_prompts_ = false;
  Tensor logits = rows_.extend(tokens_, pass);
  vocabulary_ = logits.dim(1);
  for (std::vector<int32_t>& tokens : tokens_) tokens.erase(tokens.begin(), tokens.end() - 1);
  return logits;
}

// Of tokens that can be read, and whose successors can be part of the answer.
void Generation::propose() {
  std::vector<Proposer::Row> rows;
  for (size_t i = 0; i < live_.size(); ++i) {
    const Live& live = live_[i];
    const int64_t length = std::ssize(live.history);
    int64_t limit = std::min(options_.max_tokens - std::ssize(found_[live.row].ids),
                             rows_.max_at_once(static_cast<int64_t>(i))) -
                    1;
    if (options_.position_limit > 0) limit = std::min(limit, options_.position_limit - length);
    rows.push_back({.number = live.row, .tokens = live.history, .limit = limit});
  }
  const std::vector<std::vector<int32_t>> proposed = options_.proposer->propose(rows);
  for (size_t i = 0; i < live_.size(); ++i) {
    const auto end = std::find_if(proposed[i].begin(), proposed[i].end(),
                                  [&](int32_t id) { return id < 0 || id >= vocabulary_; });
    const int64_t count = std::min<int64_t>(rows[i].limit, end - proposed[i].begin());
    tokens_[i].insert(tokens_[i].end(), proposed[i].begin(), proposed[i].begin() + count);
    found_[live_[i].row].speculated.proposed += count;
  }
}

bool Generation::at_limit(const Live& live) {
  const bool full =
      options_.position_limit > 0 && static_cast<int64_t>(live.history.size()) > options_.position_limit;
  if (full) found_[live.row].end = Generated::End::position_limit;
  return full;
}

// The next tokens of some rows, from their logits.
std::vector<TokenChoice> Generation::choose(const Tensor& logits, std::span<const size_t> live) const {
  std::vector<TokenChoice> out(live.size());
  for (const bool early : {false, true}) {  // before eos may come
    std::vector<SamplingRow> rows;
    std::vector<int64_t> from;
    for (size_t i = 0; i < live.size(); ++i) {
      const Live& of = live_[live[i]];
      if ((std::ssize(found_[of.row].ids) < options_.min_tokens) != early) continue;
      rows.push_back(
          {.history = of.history,
           .stream = options_.streams.empty() ? options_.first_stream + of.row : options_.streams[of.row],
           .position = std::ssize(of.history)});
      from.push_back(static_cast<int64_t>(i));
    }
    if (rows.empty()) continue;
    const std::vector<TokenChoice> chosen =
        sample_tokens(rows.size() == live.size() ? logits : gather_rows(logits, from), rows,
                      early ? before_eos_ : options_.sampling);
    for (size_t i = 0; i < from.size(); ++i) out[static_cast<size_t>(from[i])] = chosen[i];
  }
  return out;
}

// Whether the order of the logits of a row is all that the next token depends on. The first step checks the options beside the
// vocabulary.
bool Generation::ranks_logits() const {
  const SamplingOptions& sampling = options_.sampling;
  return sampling.temperature == 0 && sampling.repetition_penalty == 1.0 && !options_.scores &&
         !options_.proposer && !reads_prompts_;
}

// The same as take_tokens() for one token of each row, without a tensor of all logits.
std::vector<bool> Generation::take_likeliest(const OnToken& on_token) {
  TopTokensOptions how = {.eos = -1, .suppress_tokens = options_.sampling.suppress_tokens, .normalized = false};
  for (const Live& live : live_) {
    std::vector<int32_t>& suppressed =
        how.suppress_in_rows.emplace_back(ends_of_repeated_ngrams(live.history, options_.sampling.no_repeat_ngram));
    if (std::ssize(found_[live.row].ids) < options_.min_tokens)
      suppressed.insert(suppressed.end(), options_.eos.begin(), options_.eos.end());
  }
  Pass pass;
  const TopTokens& top = CandidateTokens().extend(rows_, tokens_, pass, {}, 1, how, scan_);
  std::vector<bool> continues(live_.size());
  for (size_t i = 0; i < live_.size(); ++i) {
    const std::span<const TokenChoice> best = top.row(static_cast<int64_t>(i));
    require(!best.empty(), "sampling", "row {}: all {} tokens are forbidden", i, vocabulary_);
    continues[i] = add(live_[i], best.front(), on_token);
    tokens_[i] = {best.front().id};
  }
  return continues;
}

// Adds to every row the token that is chosen after each of its tokens_, as long as that is the proposed one; the last of them
// is to be read next. Whether each row continues.
std::vector<bool> Generation::take_tokens(const Tensor& logits, const OnToken& on_token) {
  std::vector<bool> continues(live_.size());
  std::vector<size_t> active(live_.size());
  std::iota(active.begin(), active.end(), size_t{0});
  std::vector<int64_t> at(live_.size()), lengths(live_.size());  // in the logits; of what was read and remains
  std::vector<int32_t> last(live_.size());
  int64_t row = 0;
  bool any_rejected = false;
  for (size_t i = 0; i < live_.size(); ++i) {
    at[i] = row;
    row += std::ssize(tokens_[i]);
    lengths[i] = rows_.position(static_cast<int64_t>(i)) - std::ssize(tokens_[i]);
  }
  for (size_t step = 0; !active.empty(); ++step) {
    std::vector<int64_t> from;
    from.reserve(active.size());
    for (const size_t i : active) from.push_back(at[i] + static_cast<int64_t>(step));
    const std::vector<TokenChoice> chosen =
        choose(std::ssize(from) == logits.dim(0) ? logits : gather_rows(logits, from), active);
    std::vector<size_t> rest;
    for (size_t n = 0; n < active.size(); ++n) {
      const size_t i = active[n];
      last[i] = chosen[n].id;
      ++lengths[i];
      if (step > 0) ++found_[live_[i].row].speculated.accepted;
      continues[i] = add(live_[i], chosen[n], on_token);
      const bool is_last = step + 1 == tokens_[i].size();
      if (continues[i] && !is_last && tokens_[i][step + 1] == last[i]) {
        rest.push_back(i);
      } else {
        any_rejected = any_rejected || !is_last;
      }
    }
    active = std::move(rest);
  }
  if (any_rejected) rows_.truncate(lengths);
  for (size_t i = 0; i < live_.size(); ++i) tokens_[i] = {last[i]};
  return continues;
}

// Whether the row continues.
bool Generation::add(Live& live, const TokenChoice& token, const OnToken& on_token) {
  Generated& of = found_[live.row];
  if (options_.scores) of.log_probability += token.log_probability;
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
