#include "qkv/decode/beam.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace qkv {

double length_penalty(int64_t tokens, double alpha, LengthNormalization normalization) {
  const auto length = static_cast<double>(tokens);
  return std::pow(normalization == LengthNormalization::wu ? (5.0 + length) / 6.0 : length, alpha);
}

Beam::Beam(const SearchOptions& options, int64_t max_length)
    : options_(options), max_length_(max_length), live_{{.parent = 0, .ids = {}, .log_probability = 0.0}} {}

// The candidates for the next step, best first. `beam` tokens of every row are enough: no more can stay live.
void Beam::collect(const TopTokens& top, int64_t first_row) {
  continuations_.clear();
  const auto add = [&](size_t parent, int32_t id, float log_probability) {
    continuations_.push_back({live_[parent].log_probability + log_probability, static_cast<int64_t>(parent), id});
  };
  if (length_ < max_length_)
    for (size_t i = 0; i < live_.size(); ++i)
      for (const TokenChoice& choice : top.row(first_row + static_cast<int64_t>(i)))
        add(i, choice.id, choice.log_probability);
  if (options_.eos < 0) return sort_continuations();
  const bool only_eos = continuations_.empty();
  if (length_ >= options_.min_length || only_eos)
    for (size_t i = 0; i < live_.size(); ++i)
      if (const float eos = top.eos(first_row + static_cast<int64_t>(i)); only_eos || std::isfinite(eos))
        add(i, options_.eos, eos);
  sort_continuations();
}

void Beam::sort_continuations() {
  std::sort(continuations_.begin(), continuations_.end(), [](const Continuation& a, const Continuation& b) {
    return std::tie(b.log_probability, a.parent, a.id) < std::tie(a.log_probability, b.parent, b.id);
  });
}

void Beam::advance(const TopTokens& top, int64_t first_row) {
  collect(top, first_row);
  const auto beam = static_cast<size_t>(options_.beam);
  std::vector<Live> next;
  for (size_t rank = 0; rank < continuations_.size() && next.size() < beam; ++rank) {
    const auto& [log_probability, parent, id] = continuations_[rank];
    const Live& from = live_[static_cast<size_t>(parent)];
    if (id == options_.eos) {
      if (rank < beam) finish(from, log_probability, std::ssize(from.ids) + 1);
      continue;
    }
    next.push_back({parent, from.ids, log_probability});
    next.back().ids.push_back(id);
  }
  const auto finish_as_they_are = [&] {
    for (const Live& hypothesis : live_)
      finish(hypothesis, hypothesis.log_probability, std::max<int64_t>(std::ssize(hypothesis.ids), 1));
  };
  if (next.empty() && finished_.empty()) finish_as_they_are();  // without eos
  ++length_;
  live_ = std::move(next);
  const bool needs_eos = options_.eos_at_max_length && options_.eos >= 0;
  if (length_ == max_length_ && !needs_eos) {
    finish_as_they_are();
    live_.clear();
  }
  done_ = live_.empty() || (options_.early_stopping ? finished_.size() >= beam || cannot_improve() : is_worse());
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
  return std::move(finished_);
}

}  // namespace qkv
