#include "qkv/train/warnings.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace qkv {
namespace {

// Good trainings have passed these by then, however small: their gain is 0.3 and more after 500 updates.
constexpr int64_t source_used_by = 500;  // updates
constexpr double small_gain = 0.1;       // nats per target token

constexpr int64_t standing = 500;  // updates; later in the training, a quarter of them
constexpr double small_fall = 0.005, near_frequency_loss = 0.7;

constexpr double clearly_lower = 1.0;  // BLEU
constexpr double explosion = 20, risen_loss = 0.3;
constexpr size_t min_reports = 5;

}  // namespace

std::vector<TrainingWarning> TrainingWarnings::report(const TrainingReport& report) {
  std::vector<TrainingWarning> warnings;
  add(warnings, "gradients-explode", gradients_explode(report));
  reports_.push_back(report);
  add(warnings, "loss-stands", loss_stands());
  return warnings;
}

std::vector<TrainingWarning> TrainingWarnings::validation(int64_t step, const Validation& validation,
                                                          const SourceUse& use) {
  std::vector<TrainingWarning> warnings;
  add(warnings, "source-unused", source_unused(step, use));
  add(warnings, "bleu-falls", bleu_falls(step, validation));
  return warnings;
}

std::vector<TrainingWarning> TrainingWarnings::validation(int64_t step, const Validation& validation) {
  std::vector<TrainingWarning> warnings;
  add(warnings, "bleu-falls", bleu_falls(step, validation));
  return warnings;
}

void TrainingWarnings::add(std::vector<TrainingWarning>& warnings, const char* name, const Sign& sign) {
  bool& seen = seen_[name];
  if (sign && !seen) warnings.push_back({name, *sign});
  seen = sign.has_value();
}

TrainingWarnings::Sign TrainingWarnings::source_unused(int64_t step, const SourceUse& use) const {
  if (step < source_used_by || use.gain >= small_gain) return {};
  std::vector<std::string> layers;
  for (const double e : use.entropy) layers.push_back(fmt::format("{:.2f}", e));
  return fmt::format(
      "step {}: the model does not read its source: sources exchanged between sentences raise the validation loss "
      "by only {:.3f} (entropy of cross-attention, 1 is flat: {} by layer). {} or a longer warmup, and check that "
      "the two sides of the corpus are translations of each other",
      step, use.gain, fmt::join(layers, " "), remedy());
}

// A model can lower its loss by better guesses of frequent words while it reads less of the source.
TrainingWarnings::Sign TrainingWarnings::bleu_falls(int64_t step, const Validation& v) {
  if (!v.bleu) return {};
  if (!best_ || *v.bleu > best_->bleu) {
    best_ = {.step = step, .bleu = *v.bleu, .loss = v.loss};
    return {};
  }
  const bool lower = *v.bleu <= best_->bleu - clearly_lower && v.loss < best_->loss;
  best_->lower_since = lower ? best_->lower_since + 1 : 0;
  if (best_->lower_since < 2) return {};
  return fmt::format(
      "step {}: BLEU fell from {:.1f} at step {} to {:.1f} while the validation loss fell from {:.3f} to {:.3f}: "
      "the model predicts frequent words better and translates worse. {} or a longer warmup; patience-on bleu "
      "keeps the model with the best BLEU",
      step, best_->bleu, best_->step, *v.bleu, best_->loss, v.loss, remedy());
}

std::string TrainingWarnings::remedy() const {
  return options_.suggest_pre_norm ? "Try norm pre, a smaller learning-rate" : "Try a smaller learning-rate";
}

// The mean over the reports of the updates after + 1 to until; none if they do not reach back that far.
std::optional<double> TrainingWarnings::mean_loss(int64_t after, int64_t until) const {
  if (after < 0) return {};
  double sum = 0;
  int64_t count = 0;
  for (const TrainingReport& r : reports_)
    if (r.step > after && r.step <= until) {
      sum += r.loss;
      ++count;
    }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

TrainingWarnings::Sign TrainingWarnings::loss_stands() const {
  const int64_t step = reports_.back().step, window = std::max(standing, step / 4);
  const std::optional<double> before = mean_loss(step - 2 * window, step - window);
  const std::optional<double> now = mean_loss(step - window, step);
  if (!before || !now || *now < *before * (1 - small_fall) || *now < near_frequency_loss * options_.frequency_loss)
    return {};
  return fmt::format(
      "step {}: the loss does not fall: {:.3f} over the last {} updates, {:.3f} over the {} before, and {:.3f} for "
      "a model that knows only token frequencies. {}, a longer warmup, or clip 1",
      step, *now, window, *before, window, options_.frequency_loss, remedy());
}

TrainingWarnings::Sign TrainingWarnings::gradients_explode(const TrainingReport& report) const {
  if (reports_.size() < min_reports) return {};
  std::vector<double> norms;
  double lowest = reports_.front().loss;
  for (const TrainingReport& r : reports_) {
    norms.push_back(r.max_norm);
    lowest = std::min(lowest, r.loss);
  }
  const auto middle = norms.begin() + static_cast<ptrdiff_t>(norms.size() / 2);
  std::nth_element(norms.begin(), middle, norms.end());
  if (report.max_norm < explosion * *middle || report.loss < lowest + risen_loss) return {};
  return fmt::format(
      "step {}: gradients explode: their norm reached {:.3g}, the median is {:.3g}, and the loss rose from {:.3f} "
      "to {:.3f}. Try clip 1, a smaller learning-rate or a longer warmup",
      report.step, report.max_norm, *middle, lowest, report.loss);
}

}  // namespace qkv
