#include "qkv/decode/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qkv/base/error.h"
#include "qkv/decode/alignment.h"
#include "qkv/decode/beam.h"
#include "qkv/decode/top_tokens.h"

namespace qkv {
namespace {

// The begin takes one position: so many tokens can follow it.
int64_t longest_answer(const SearchOptions& o, int32_t source_length, const TransformerConfig& config) {
  const int64_t wanted = o.max_length > 0
                             ? o.max_length
                             : static_cast<int64_t>(o.max_length_ratio * source_length) + o.max_length_extra;
  return std::min(wanted, config.max_length - 1);
}

// The sentences still searched, their rows in the model's state, and the step they take together.
class Batch {
 public:
  Batch(const Transformer& model, const Encoded& encoded, const SearchOptions& options)
      : model_(model),
        options_(options),
        lengths_(encoded.lengths),
        state_(model.start(encoded)),
        open_(lengths_.size()),
        ids_(lengths_.size(), options.begin) {
    std::iota(open_.begin(), open_.end(), size_t{0});
    for (const int32_t length : lengths_)
      beams_.emplace_back(options, longest_answer(options, length, model.config()));
  }

  bool done() const { return open_.empty(); }

  void step() {
    Pass pass;
    const Tensor logits = model_.step(state_, Tensor::from(ids_, {static_cast<int64_t>(ids_.size())}), pass);
    const TopTokens top = top_tokens(logits, options_.beam, {.end = options_.end, .never = options_.never});
    int64_t most = 0;  // hypotheses of a sentence
    for (size_t i = 0; i < open_.size(); ++i) {
      Beam& beam = beams_[open_[i]];
      beam.advance(top, static_cast<int64_t>(i) * rows_);
      if (!beam.done()) most = std::max(most, static_cast<int64_t>(beam.live().size()));
    }
    go_on(most);
  }

  // The best of each sentence; none for those that were left out.
  std::vector<std::vector<Hypothesis>> take_best() {
    std::vector<std::vector<Hypothesis>> best;
    for (Beam& beam : beams_) best.push_back(beam.done() ? beam.take_best() : std::vector<Hypothesis>());
    return best;
  }

  // Sentences for which there was no room, those that left together side by side.
  const std::vector<std::vector<size_t>>& left_out() const { return left_out_; }

 private:
  // Places among the open ones of the sentences that are not done, as many as there is room for.
  std::vector<int64_t> remaining(int64_t rows) {
    std::vector<int64_t> places;
    for (size_t i = 0; i < open_.size(); ++i)
      if (!beams_[open_[i]].done()) places.push_back(static_cast<int64_t>(i));
    size_t keep = places.size();
    const int64_t room = options_.max_tokens / std::max<int64_t>(rows, 1) / (state_.position + 1);
    while (options_.max_tokens > 0 && keep > 1 && static_cast<int64_t>(keep) > room) keep = (keep + 1) / 2;
    if (keep < places.size()) left_out_.emplace_back();
    for (size_t i = keep; i < places.size(); ++i) left_out_.back().push_back(open_[static_cast<size_t>(places[i])]);
    places.resize(keep);
    return places;
  }

  // Rows of the next step: `most` for each open sentence, the last ones repeated where it has fewer hypotheses.
  void go_on(int64_t most) {
    const std::vector<int64_t> places = remaining(most);
    std::vector<size_t> open;
    std::vector<int64_t> parents;
    ids_.clear();
    for (const int64_t i : places) {
      open.push_back(open_[static_cast<size_t>(i)]);
      const Beam& beam = beams_[open.back()];
      for (int64_t row = 0; row < most; ++row) {
        const auto last = static_cast<int64_t>(beam.live().size()) - 1;
        const Beam::Live& live = beam.live()[static_cast<size_t>(std::min(row, last))];
        parents.push_back(i * rows_ + live.parent);
        ids_.push_back(live.ids.back());
      }
    }
    if (open.size() < open_.size()) {
      std::vector<int32_t> lengths;
      for (const size_t sentence : open) lengths.push_back(lengths_[sentence]);
      if (!open.empty()) model_.keep_sentences(state_, places, lengths);
    }
    if (!open.empty()) reorder(parents);
    rows_ = most;
    open_ = std::move(open);
  }

  void reorder(const std::vector<int64_t>& parents) {
    bool same = static_cast<int64_t>(parents.size()) == static_cast<int64_t>(open_.size()) * rows_;
    for (size_t r = 0; r < parents.size() && same; ++r) same = parents[r] == static_cast<int64_t>(r);
    if (!same) model_.reorder(state_, parents);
  }

  const Transformer& model_;
  const SearchOptions& options_;
  std::vector<int32_t> lengths_;
  DecoderState state_;
  std::vector<Beam> beams_;
  std::vector<size_t> open_;  // sentences, in the order of their rows
  int64_t rows_ = 1;          // of every open sentence
  std::vector<int32_t> ids_;  // the newest token of every row
  std::vector<std::vector<size_t>> left_out_;
};

// Searches some of the sentences of a batch, and gives those that must be searched again.
std::vector<std::vector<int64_t>> search_some(const Transformer& model, const Tensor& source,
                                              std::span<const int32_t> lengths, const SearchOptions& options,
                                              const std::vector<int64_t>& sentences,
                                              std::vector<std::vector<Hypothesis>>& answers) {
  Pass pass;
  std::vector<int32_t> some;
  for (const int64_t b : sentences) some.push_back(lengths[static_cast<size_t>(b)]);
  Batch batch(model, model.encode(gather_rows(source, sentences), some, pass), options);
  while (!batch.done()) batch.step();
  std::vector<std::vector<Hypothesis>> best = batch.take_best();
  for (size_t i = 0; i < best.size(); ++i)
    if (!best[i].empty()) answers[static_cast<size_t>(sentences[i])] = std::move(best[i]);
  std::vector<std::vector<int64_t>> again;
  for (const std::vector<size_t>& group : batch.left_out()) {
    again.emplace_back();
    for (const size_t i : group) again.back().push_back(sentences[i]);
  }
  return again;
}

void align(const Transformer& model, const Tensor& source, std::span<const int32_t> lengths,
           std::vector<std::vector<Hypothesis>>& answers, int32_t begin) {
  std::vector<int64_t> rows;
  std::vector<int32_t> row_lengths;
  std::vector<std::vector<int32_t>> targets;
  for (size_t b = 0; b < answers.size(); ++b)
    for (const Hypothesis& answer : answers[b]) {
      rows.push_back(static_cast<int64_t>(b));
      row_lengths.push_back(lengths[b]);
      targets.push_back(answer.ids);
    }
  const std::vector<Tensor> found =
      alignments(model, gather_rows(source, rows), row_lengths, targets, {.begin = begin});
  auto next = found.begin();
  for (std::vector<Hypothesis>& of_sentence : answers)
    for (Hypothesis& answer : of_sentence) answer.alignment = *next++;
}

}  // namespace

void check_options(const SearchOptions& o) {
  constexpr int64_t most_beam = 256;
  require<UsageError>(o.beam >= 1 && o.beam <= most_beam, "search", "beam must be 1 to {}, got {}", most_beam,
                      o.beam);
  require<UsageError>(o.n_best >= 1 && o.n_best <= o.beam, "search", "n-best must be 1 to the beam of {}, got {}",
                      o.beam, o.n_best);
  require<UsageError>(o.max_tokens >= 0, "search", "max-tokens must be at least 0, got {}", o.max_tokens);
  require<UsageError>(std::isfinite(o.length_penalty), "search", "length-penalty must be a number, got {}",
                      o.length_penalty);
  require<UsageError>(o.min_length >= 0 && o.max_length >= 0 && o.max_length_extra >= 0 &&
                          o.max_length_ratio >= 0 && o.max_length_ratio <= 1e6,
                      "search", "lengths must not be negative: min {}, max {}, ratio {}, extra {}", o.min_length,
                      o.max_length, o.max_length_ratio, o.max_length_extra);
}

void check_options(const SearchOptions& o, const TransformerConfig& config) {
  check_options(o);
  require<UsageError>(
      o.begin >= 0 && o.begin < config.target_vocabulary && o.end >= 0 && o.end < config.target_vocabulary,
      "search", "begin {} and end {} must be in the target vocabulary of {} tokens", o.begin, o.end,
      config.target_vocabulary);
}

std::vector<std::vector<Hypothesis>> search(const Transformer& model, const Tensor& source,
                                            std::span<const int32_t> lengths, const SearchOptions& options) {
  check_options(options, model.config());
  require(source.rank() == 2 && source.dim(0) == static_cast<int64_t>(lengths.size()), "search",
          "source must be (B,S) with B lengths, got {} and {} lengths", source.shape(), lengths.size());
  if (lengths.empty()) return {};
  const NoGrad guard;
  std::vector<std::vector<Hypothesis>> answers(lengths.size());
  std::vector<std::vector<int64_t>> waiting(1);
  for (size_t b = 0; b < lengths.size(); ++b) waiting[0].push_back(static_cast<int64_t>(b));
  while (!waiting.empty()) {
    const std::vector<int64_t> sentences = std::move(waiting.back());
    waiting.pop_back();
    for (auto& group : search_some(model, source, lengths, options, sentences, answers))
      waiting.push_back(std::move(group));
  }
  if (options.alignment) align(model, source, lengths, answers, options.begin);
  return answers;
}

}  // namespace qkv
