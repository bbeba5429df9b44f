#include "qkv/decode/beam.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace qkv {

double length_penalty(int64_t tokens, double alpha, LengthNormalization normalization) {
  const auto length = static_cast<double>(tokens);
  return std::pow(normalization == LengthNormalization::wu ? (5.0 + length) / 6.0 : length, alpha);
}

Beam::Beam(const SearchOptions& options, int64_t max_length, RequiredPhrases phrases, PhraseProgress progress)
    : options_(options),
      phrases_(std::move(phrases)),
      width_(phrases_.empty() ? options.beam : std::max(options.beam, phrases_.tokens() + 1)),
      max_length_(max_length),
      live_{{.parent = 0, .ids = {}, .log_probability = 0.0, .progress = std::move(progress)}} {}

// The candidates for the next step, best first. `width` tokens of every row are enough: no more can stay live.
void Beam::collect(const TopTokens& top, int64_t first_row) {
  continuations_.clear();
  const auto add = [&](size_t parent, int32_t id, float log_probability) {
    continuations_.push_back({live_[parent].log_probability + log_probability, static_cast<int64_t>(parent), id});
    PhraseProgress& progress = continuations_.back().progress;
    if (phrases_.empty()) return;
    progress = id == options_.eos ? live_[parent].progress : phrases_.after(live_[parent].progress, id);
  };
  if (length_ < max_length_)
    for (size_t i = 0; i < live_.size(); ++i) {
      const int64_t row = first_row + live_[i].row;
      for (const TokenChoice& choice : top.row(row)) add(i, choice.id, choice.log_probability);
      for (const TokenChoice& choice : top.extra(row)) add(i, choice.id, choice.log_probability);
    }
  if (options_.eos < 0) return sort_continuations();
  const bool only_eos = continuations_.empty();
  if (length_ >= options_.min_length || only_eos)
    for (size_t i = 0; i < live_.size(); ++i)
      if (const float eos = top.eos(first_row + live_[i].row);
          only_eos || (std::isfinite(eos) && may_finish(live_[i].progress)))
        add(i, options_.eos, eos);
  sort_continuations();
}

void Beam::sort_continuations() {
  std::sort(continuations_.begin(), continuations_.end(), [](const Continuation& a, const Continuation& b) {
    return std::tie(b.log_probability, a.parent, a.id) < std::tie(a.log_probability, b.parent, b.id);
  });
}

// Whether all phrases are met, or, at the maximum length, as many tokens of them as in any hypothesis.
bool Beam::may_finish(const PhraseProgress& progress) const {
  if (phrases_.empty() || phrases_.complete(progress)) return true;
  if (length_ < max_length_ || !finished_.empty()) return false;
  return std::all_of(live_.begin(), live_.end(),
                     [&](const Live& other) { return other.progress.tokens <= progress.tokens; });
}

void Beam::advance(const TopTokens& top, int64_t first_row) {
  collect(top, first_row);
  const auto beam = static_cast<size_t>(options_.beam);
  size_t rank = 0;  // among the continuations that have all phrases
  for (const auto& [log_probability, parent, id, progress] : continuations_) {
    const Live& from = live_[static_cast<size_t>(parent)];
    if (id == options_.eos && may_finish(progress) && rank < beam)
      finish(from, log_probability, std::ssize(from.ids) + 1);
    rank += phrases_.empty() || phrases_.complete(progress);
  }
  choose_live();
  const auto finish_as_they_are = [&] {
    for (const Live& hypothesis : live_)
      if (may_finish(hypothesis.progress))
        finish(hypothesis, hypothesis.log_probability, std::max<int64_t>(std::ssize(hypothesis.ids), 1));
    if (finished_.empty())
      finish(live_.front(), live_.front().log_probability, std::max<int64_t>(std::ssize(live_.front().ids), 1));
  };
  if (next_.empty() && finished_.empty()) finish_as_they_are();  // without eos
  ++length_;
  live_.swap(next_);
  const bool needs_eos = options_.eos_at_max_length && options_.eos >= 0;
  if (length_ == max_length_ && !needs_eos) {
    finish_as_they_are();
    live_.clear();
  }
  done_ = live_.empty() || (options_.early_stopping ? finished_.size() >= beam || cannot_improve() : is_worse());
}

// The best continuations without eos: first an equal share for every number of met tokens, then the best of the others.
void Beam::choose_live() {
  const auto width = static_cast<size_t>(width_);
  const auto groups = static_cast<size_t>(phrases_.tokens()) + 1;
  free_.assign(groups, width / groups);
  free_.back() += width % groups;
  chosen_.assign(continuations_.size(), false);
  size_t count = 0;
  for (const bool shared : {true, false})
    for (size_t i = 0; i < continuations_.size() && count < width; ++i) {
      if (continuations_[i].id == options_.eos || chosen_[i]) continue;
      size_t& of_group = free_[static_cast<size_t>(continuations_[i].progress.tokens)];
      if (shared && of_group == 0) continue;
      if (shared) --of_group;
      chosen_[i] = true;
      ++count;
    }
  next_.resize(count);
  auto next = next_.begin();
  for (size_t i = 0; i < continuations_.size(); ++i) {
    if (!chosen_[i]) continue;
    const auto& [log_probability, parent, id, progress] = continuations_[i];
    const Live& from = live_[static_cast<size_t>(parent)];
    next->parent = parent;
    next->ids.assign(from.ids.begin(), from.ids.end());
    next->ids.push_back(id);
    next->log_probability = log_probability;
    next->progress = progress;
    next->row = next - next_.begin();
    next->row_before = from.row;
    ++next;
  }
}

void Beam::keep_rows(int64_t rows) {
  taken_.assign(static_cast<size_t>(rows), false);
  for (Live& hypothesis : live_) {
    const int64_t row = hypothesis.row_before;
    const bool keeps = row < rows && !taken_[static_cast<size_t>(row)];
    if (keeps) taken_[static_cast<size_t>(row)] = true;
    hypothesis.row = keeps ? row : -1;
  }
  size_t row = 0;
  for (Live& hypothesis : live_) {
    if (hypothesis.row >= 0) continue;
    while (taken_[row]) ++row;
    hypothesis.row = static_cast<int64_t>(row++);
  }
}

void Beam::finish(const Live& hypothesis, double log_probability, int64_t tokens) {
  finished_.push_back({.ids = hypothesis.ids,
                       .score = score(log_probability, tokens),
                       .log_probability = log_probability,
                       .alignment = {}});
  const auto better = [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; };
  std::stable_sort(finished_.begin(), finished_.end(), better);
}

// Whether no live hypothesis can become one of the n best: its log-probability can only decrease, while its length
// can grow to max_length. Length penalties are monotonic in the length, so one of its ends gives the best score.
bool Beam::cannot_improve() const {
  if (finished_.size() < static_cast<size_t>(options_.n_best)) return false;
  const double best = live_.front().log_probability;
  const double bound = std::max(score(best, length_ + 1), score(best, max_length_ + 1));
  return bound <= finished_[static_cast<size_t>(options_.n_best) - 1].score;
}

// Whether the best live hypothesis is no better, at its present length, than the worst of `beam` finished ones.
bool Beam::is_worse() const {
  const auto beam = static_cast<size_t>(options_.beam);
  return finished_.size() >= beam && score(live_.front().log_probability, length_) <= finished_[beam - 1].score;
}

double Beam::score(double log_probability, int64_t tokens) const {
  return log_probability / length_penalty(tokens, options_.length_penalty, options_.length_normalization);
}

std::vector<Hypothesis> Beam::take_best() {
  if (finished_.size() > static_cast<size_t>(options_.n_best))
    finished_.resize(static_cast<size_t>(options_.n_best));
  if (!options_.scores)
    for (Hypothesis& hypothesis : finished_) hypothesis.score = hypothesis.log_probability = 0;
  return std::move(finished_);
}

}  // namespace qkv
