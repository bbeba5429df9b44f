#include "qkv/decode/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qkv/base/error.h"
#include "qkv/base/sort_unique.h"
#include "qkv/base/threads.h"
#include "qkv/decode/alignment.h"
#include "qkv/decode/alternatives.h"
#include "qkv/decode/beam.h"
#include "qkv/decode/candidate_tokens.h"
#include "qkv/decode/option_table.h"
#include "qkv/decode/sampling.h"
#include "qkv/decode/top_tokens.h"
#include "qkv/model/row_groups.h"

namespace qkv {
namespace {

// bos takes the first position of the decoder. A length in proportion to the source is within what the model was made for.
int64_t max_length_of(const SearchOptions& o, int32_t source_length, const ModelConfig& config) {
  const int64_t limit = config.position_limit() - 1;
  if (o.max_length > 0) return std::min(o.max_length, limit);
  const auto in_proportion = static_cast<int64_t>(o.max_length_ratio * source_length) + o.max_length_extra;
  return std::min({in_proportion, config.default_context(), limit});
}

// The unfinished sequences of a batch, which are searched in step, and their rows in the decoding.
class Batch {
 public:
  Batch(const SearchTask& task, const SearchOptions& options, std::span<const int64_t> sequences)
      : options_(options),
        top_options_{.eos = options.eos, .suppress_tokens = options.suppress_tokens},
        rows_of_model_(task.start(sequences)),
        candidates_(task.candidates, sequences),
        active_(sequences.size()) {
    candidates_.restrict_logits(*rows_of_model_);
    std::iota(active_.begin(), active_.end(), size_t{0});
    for (const int64_t i : sequences) {
      if (options.no_repeat_ngram > 0) first_.push_back(task.first[static_cast<size_t>(i)]);
      tokens_.push_back(task.first[static_cast<size_t>(i)]);
      const int64_t max_length = task.max_lengths[static_cast<size_t>(i)];
      if (task.phrases.empty()) {
        beams_.emplace_back(options, max_length);
        continue;
      }
      RequiredPhrases phrases(task.phrases[static_cast<size_t>(i)]);
      PhraseProgress progress;
      for (const int32_t id : tokens_.back()) progress = phrases.after(progress, id);
      beams_.emplace_back(options, max_length, std::move(phrases), std::move(progress));
      has_phrases_ = true;
    }
  }

  bool done() const { return active_.empty(); }

  void step() {
    Pass pass;
    const bool is_forced = is_first_step_ && options_.forced_first_token;
    const TopTokens forced = is_forced ? forced_tokens(pass) : TopTokens();
    const TopTokens& top = is_forced ? forced : best_tokens(pass);
    is_first_step_ = false;
    int64_t rows = 0;  // the largest number of live hypotheses of a sentence
    for (size_t i = 0; i < active_.size(); ++i) {
      Beam& beam = beams_[active_[i]];
      beam.advance(top, static_cast<int64_t>(i) * rows_);
      if (!beam.done()) rows = std::max(rows, static_cast<int64_t>(beam.live().size()));
    }
    prepare_step(rows);
  }

  // The best hypotheses of each sequence; none for the deferred ones.
  std::vector<std::vector<Hypothesis>> take_best() {
    std::vector<std::vector<Hypothesis>> best;
    for (Beam& beam : beams_) best.push_back(beam.done() ? beam.take_best() : std::vector<Hypothesis>());
    return best;
  }

  // Sequences that did not fit into max_tokens, grouped by the step in which they were dropped.
  const std::vector<std::vector<size_t>>& deferred() const { return deferred_; }

 private:
  TopTokens forced_tokens(Pass& pass) {
    rows_of_model_->extend(tokens_, pass);
    return forced_token(std::ssize(tokens_), *options_.forced_first_token);
  }

  const TopTokens& best_tokens(Pass& pass) {
    const auto rows = std::ssize(tokens_);
    sequences_.clear();
    for (const size_t i : active_) sequences_.insert(sequences_.end(), static_cast<size_t>(rows_), i);
    top_options_.suppress_in_rows = repeated_ngrams(rows);
    top_options_.extra_in_rows = wanted_tokens(rows);
    top_options_.normalized = !ranks_logits();
    return candidates_.extend(*rows_of_model_, tokens_, pass, sequences_, width(), top_options_, scan_);
  }

  // Whether the order of the logits of a row is all that the search depends on.
  bool ranks_logits() const { return !options_.scores && width() == 1 && options_.early_stopping; }

  int64_t width() const {
    int64_t largest = options_.beam;
    for (const size_t i : active_) largest = std::max(largest, beams_[i].width());
    return largest;
  }

  size_t row_of(size_t sentence, const Beam::Live& hypothesis) const {
    return sentence * static_cast<size_t>(rows_) + static_cast<size_t>(hypothesis.row);
  }

  // The tokens that bring a required phrase forward, for every row.
  std::vector<std::vector<int32_t>> wanted_tokens(int64_t rows) const {
    if (!has_phrases_) return {};
    std::vector<std::vector<int32_t>> wanted(static_cast<size_t>(rows));
    for (size_t i = 0; i < active_.size(); ++i)
      for (size_t n = 0; n < beams_[active_[i]].live().size(); ++n)
        wanted[row_of(i, beams_[active_[i]].live()[n])] = beams_[active_[i]].wanted(n);
    return wanted;
  }

  // The tokens that would complete an n-gram a second time, for every row.
  std::vector<std::vector<int32_t>> repeated_ngrams(int64_t rows) const {
    if (first_.empty()) return {};
    std::vector<std::vector<int32_t>> repeated(static_cast<size_t>(rows));
    for (size_t i = 0; i < active_.size(); ++i)
      for (const Beam::Live& hypothesis : beams_[active_[i]].live()) {
        std::vector<int32_t> history = first_[active_[i]];
        history.insert(history.end(), hypothesis.ids.begin(), hypothesis.ids.end());
        repeated[row_of(i, hypothesis)] = ends_of_repeated_ngrams(history, options_.no_repeat_ngram);
      }
    return repeated;
  }

  // remaining_: the indices in active_ of the unfinished sentences, as many as fit with `rows` hypotheses each.
  void find_remaining(int64_t rows) {
    remaining_.clear();
    for (size_t i = 0; i < active_.size(); ++i)
      if (!beams_[active_[i]].done()) remaining_.push_back(i);
    size_t keep = remaining_.size();
    const int64_t fitting = options_.max_tokens / std::max<int64_t>(rows, 1) / (longest() + 1);
    while (options_.max_tokens > 0 && keep > 1 && static_cast<int64_t>(keep) > fitting) keep = (keep + 1) / 2;
    if (keep < remaining_.size()) deferred_.emplace_back();
    for (size_t i = keep; i < remaining_.size(); ++i) deferred_.back().push_back(active_[remaining_[i]]);
    remaining_.resize(keep);
  }

  int64_t longest() const {
    int64_t positions = 0;
    for (int64_t row = 0; row < rows_of_model_->rows(); ++row)
      positions = std::max(positions, rows_of_model_->position(row));
    return positions;
  }

  // Makes `rows` rows for each active sequence; where there are fewer hypotheses the others continue with any token.
  void prepare_step(int64_t rows) {
    find_remaining(rows);
    tokens_.resize(remaining_.size() * static_cast<size_t>(rows));
    parents_.resize(tokens_.size());
    for (size_t n = 0; n < remaining_.size(); ++n) {
      const auto i = static_cast<int64_t>(remaining_[n]);
      Beam& beam = beams_[active_[remaining_[n]]];
      beam.keep_rows(rows);
      const size_t first = n * static_cast<size_t>(rows);
      for (int64_t row = 0; row < rows; ++row) {
        parents_[first + static_cast<size_t>(row)] = i * rows_ + std::min(row, rows_ - 1);
        tokens_[first + static_cast<size_t>(row)].assign(1, beam.live().front().ids.back());
      }
      for (const Beam::Live& hypothesis : beam.live()) {
        const size_t row = first + static_cast<size_t>(hypothesis.row);
        parents_[row] = i * rows_ + hypothesis.row_before;
        tokens_[row].front() = hypothesis.ids.back();
      }
    }
    if (!remaining_.empty() && !are_all_rows(parents_, rows_of_model_->rows())) rows_of_model_->reorder(parents_);
    rows_ = rows;
    for (size_t n = 0; n < remaining_.size(); ++n)
      active_[n] = active_[remaining_[n]];  // increasing, so none is lost
    active_.resize(remaining_.size());
  }

  const SearchOptions& options_;
  TopTokensOptions top_options_;
  std::unique_ptr<Decoding> rows_of_model_;
  CandidateTokens candidates_;
  bool is_first_step_ = true, has_phrases_ = false;
  std::vector<Beam> beams_;
  std::vector<size_t> active_;                // sequences, in the order of their rows
  int64_t rows_ = 1;                          // of every active sequence
  std::vector<std::vector<int32_t>> tokens_;  // the newest of every row
  std::vector<std::vector<size_t>> deferred_;
  std::vector<std::vector<int32_t>> first_;  // of every sequence, with no_repeat_ngram
  // Of a step, kept so that the next one allocates nothing.
  TopTokensScan scan_;
  std::vector<size_t> sequences_;  // of the rows
  std::vector<size_t> remaining_;
  std::vector<int64_t> parents_;  // of the new rows
};

void align(const EncoderDecoder& model, const Encoded& encoded, std::vector<std::vector<Hypothesis>>& found,
           int32_t bos) {
  std::vector<int64_t> sources;
  std::vector<std::vector<int32_t>> targets;
  for (size_t b = 0; b < found.size(); ++b)
    for (const Hypothesis& hypothesis : found[b]) {
      sources.push_back(static_cast<int64_t>(b));
      targets.push_back(hypothesis.ids);
    }
  const std::vector<Tensor> weights = alignments(model, encoded, sources, targets, {.bos = bos});
  auto next = weights.begin();
  for (std::vector<Hypothesis>& of_sentence : found)
    for (Hypothesis& hypothesis : of_sentence) hypothesis.alignment = *next++;
}

// Searches some of the sequences and returns groups of deferred ones.
std::vector<std::vector<int64_t>> search_some(const SearchTask& task, const SearchOptions& options,
                                              const std::vector<int64_t>& sequences,
                                              std::vector<std::vector<Hypothesis>>& found) {
  Batch batch(task, options, sequences);
  while (!batch.done()) batch.step();
  std::vector<std::vector<Hypothesis>> best = batch.take_best();
  for (size_t i = 0; i < best.size(); ++i)
    if (!best[i].empty()) found[static_cast<size_t>(sequences[i])] = std::move(best[i]);
  std::vector<std::vector<int64_t>> again;
  for (const std::vector<size_t>& group : batch.deferred()) {
    again.emplace_back();
    for (const size_t i : group) again.back().push_back(sequences[i]);
  }
  return again;
}

}  // namespace

void check_options(const SearchOptions& o) {
  visit_options(o, CheckRanges{"search"});
  require<UsageError>(o.alternatives || o.n_best <= o.beam, "search", "n-best must be 1 to the beam of {}, got {}",
                      o.beam, o.n_best);
  require<UsageError>(o.max_tokens >= 0, "search", "max-tokens must be at least 0, got {}", o.max_tokens);
  require<UsageError>(o.max_length_extra >= 0 && o.max_length_ratio >= 0 && o.max_length_ratio <= 1e6, "search",
                      "lengths must not be negative: ratio {}, extra {}", o.max_length_ratio, o.max_length_extra);
}

void check_options(const SearchOptions& o, const ModelConfig& config) {
  check_options(o);
  require<UsageError>(
      o.bos >= 0 && o.bos < config.target_vocabulary() && o.eos >= 0 && o.eos < config.target_vocabulary(),
      "search", "bos {} and eos {} must be ids of the target vocabulary of {} tokens", o.bos, o.eos,
      config.target_vocabulary());
  require<UsageError>(
      !o.forced_first_token || (*o.forced_first_token >= 0 && *o.forced_first_token < config.target_vocabulary()),
      "search", "the forced first token must be an id of the target vocabulary of {} tokens, got {}",
      config.target_vocabulary(), o.forced_first_token.value_or(0));
}

namespace {

// Enough rows give every thread sequences of its own: a step is many small operations, whose threads would wait for each other
// at the end of each. With fewer rows in a part, weights would be read more often than they are worth.
int64_t parts_of(int64_t sequences, const SearchOptions& options) {
  constexpr int64_t min_rows = 16;
  return sequences >= threads() && sequences * options.beam >= min_rows * threads() ? threads() : 1;
}

}  // namespace

std::vector<std::vector<Hypothesis>> search(const SearchTask& task, const SearchOptions& options) {
  check_options(options);
  require(task.candidates.empty() || task.candidates.size() == task.first.size(), "search",
          "there must be candidates for each of the {} sequences, or none, got {}", task.first.size(),
          task.candidates.size());
  require(task.first.size() == task.max_lengths.size(), "search",
          "each sequence needs its first tokens and a maximum length, got {} and {}", task.first.size(),
          task.max_lengths.size());
  require(task.phrases.empty() || task.phrases.size() == task.first.size(), "search",
          "there must be phrases for each of the {} sequences, or none, got {}", task.first.size(),
          task.phrases.size());
  require<UsageError>(task.phrases.empty() || !options.alternatives, "search",
                      "alternatives cannot be searched with required phrases");
  const NoGrad guard;
  std::vector<std::vector<Hypothesis>> found(task.first.size());
  if (found.empty()) return found;
  if (options.alternatives) return search_alternatives(task, options);
  const int64_t count = std::ssize(found), parts = parts_of(count, options);
  SearchOptions of_part = options;
  if (parts > 1 && options.max_tokens > 0) of_part.max_tokens = std::max<int64_t>(1, options.max_tokens / parts);
  parallel_for(parts, [&](int64_t part) {
    const NoGrad on_this_thread;
    const int64_t first = part * count / parts, end = (part + 1) * count / parts;
    std::vector<std::vector<int64_t>> waiting(1, std::vector<int64_t>(static_cast<size_t>(end - first)));
    std::iota(waiting[0].begin(), waiting[0].end(), first);
    while (!waiting.empty()) {
      const std::vector<int64_t> sequences = std::move(waiting.back());
      waiting.pop_back();
      for (auto& group : search_some(task, of_part, sequences, found)) waiting.push_back(std::move(group));
    }
  });
  return found;
}

namespace {

void check_conditions(const AnswerConditions& conditions, size_t sources) {
  const auto check = [&](size_t given, const char* what) {
    require(given == 0 || given == sources, "search",
            "there must be {} for each of the {} sources, or none, got {}", what, sources, given);
  };
  check(conditions.prefixes.size(), "one prefix");
  check(conditions.phrases.size(), "phrases");
  check(conditions.candidates.size(), "candidates");
}

// The candidates of source i, and what its answer needs in any case.
std::vector<int32_t> complete_candidates(const AnswerConditions& conditions, size_t i, const SearchOptions& options,
                                         int64_t vocabulary) {
  std::vector<int32_t> ids = conditions.candidates[i];
  const auto add = [&](const std::vector<int32_t>& more) { ids.insert(ids.end(), more.begin(), more.end()); };
  if (!conditions.prefixes.empty()) add(conditions.prefixes[i]);
  if (!conditions.phrases.empty())
    for (const std::vector<int32_t>& phrase : conditions.phrases[i]) add(phrase);
  add({options.eos});
  if (options.forced_first_token) add({*options.forced_first_token});
  sort_unique(ids);
  require(ids.front() >= 0 && ids.back() < vocabulary, "search",
          "candidates must be ids of the target vocabulary of {} tokens, got {} to {}", vocabulary, ids.front(),
          ids.back());
  return ids;
}

}  // namespace

std::vector<std::vector<Hypothesis>> search(const EncoderDecoder& model, const Encoded& encoded,
                                            const SearchOptions& options, const AnswerConditions& conditions) {
  check_options(options, model.config());
  const auto& prefixes = conditions.prefixes;
  check_conditions(conditions, encoded.lengths.size());
  std::vector<int64_t> all(encoded.lengths.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  SearchTask task;
  task.phrases = {conditions.phrases.begin(), conditions.phrases.end()};
  for (size_t i = 0; i < conditions.candidates.size(); ++i)
    task.candidates.push_back(complete_candidates(conditions, i, options, model.config().target_vocabulary()));
  task.start = [&](std::span<const int64_t> sentences) {
    const bool whole = std::equal(sentences.begin(), sentences.end(), all.begin(), all.end());
    return model.start(whole ? encoded : gather_rows(encoded, sentences));
  };
  for (size_t i = 0; i < encoded.lengths.size(); ++i) {
    std::vector<int32_t>& first = task.first.emplace_back(1, options.bos);
    if (!prefixes.empty()) first.insert(first.end(), prefixes[i].begin(), prefixes[i].end());
    const int64_t limit = max_length_of(options, encoded.lengths[i], model.config());
    task.max_lengths.push_back(std::max<int64_t>(0, limit - (std::ssize(first) - 1)));
  }
  std::vector<std::vector<Hypothesis>> found = search(task, options);
  for (size_t i = 0; i < prefixes.size(); ++i)
    for (Hypothesis& hypothesis : found[i])
      hypothesis.ids.insert(hypothesis.ids.begin(), prefixes[i].begin(), prefixes[i].end());
  if (options.alignment && !found.empty()) align(model, encoded, found, options.bos);
  return found;
}

std::vector<std::vector<Hypothesis>> search(const EncoderDecoder& model, const Tensor& source,
                                            std::span<const int32_t> lengths, const SearchOptions& options,
                                            const AnswerConditions& conditions) {
  check_options(options, model.config());
  require(source.rank() == 2 && source.dim(0) == static_cast<int64_t>(lengths.size()), "search",
          "source must be (B,S) with B lengths, got {} and {} lengths", source.shape(), lengths.size());
  if (lengths.empty()) return {};
  const NoGrad guard;
  Pass pass;
  return search(model, model.encode(source, {lengths.begin(), lengths.end()}, pass), options, conditions);
}

}  // namespace qkv
