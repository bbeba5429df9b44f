#include "qkv/picture/head_summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace qkv {
namespace {

enum class TokenRelation { same, shifted, other };

// How queries and keys are related: the same tokens; keys that are one behind, as in a decoder, whose query has read the key
// of its own position last; or another text.
TokenRelation relation_of(const Panel& panel) {
  const auto &rows = panel.rows, &columns = panel.columns;
  if (rows == columns) return TokenRelation::same;
  if (rows.size() == columns.size() && rows.size() > 1 &&
      std::equal(rows.begin(), rows.end() - 1, columns.begin() + 1))
    return TokenRelation::shifted;
  return TokenRelation::other;
}

// Positions of which a head may prefer one, each with the share of its weight.
struct Preference {
  std::string name;
  double share = 0;
};

double entropy_of(const std::vector<double>& shares) {
  double bits = 0;
  for (const double share : shares)
    if (share > 0) bits -= share * std::log2(share);
  return bits;
}

class HeadReader {
 public:
  explicit HeadReader(const Panel& panel)
      : panel_(panel), keys_(panel.columns.size()), mean_(keys_), relation_(relation_of(panel)) {
    const std::string& first = panel.columns.front();
    preferences_ = {{relation_ == TokenRelation::same      ? "same token"
                     : relation_ == TokenRelation::shifted ? "current token"
                                                           : "diagonal"},
                    {"previous token"},
                    {"next token"},
                    {first == "0" ? "first key" : "first token " + first},
                    {"last token " + panel.columns.back()}};
  }

  HeadSummary read() {
    const std::span<const float> weights = panel_.weights.span<float>();
    for (size_t i = 0; i < panel_.rows.size(); ++i) add_row(i, weights.subspan(i * keys_, keys_));
    if (queries_ == 0) return {.pattern = "nothing"};
    const double count = static_cast<double>(queries_);
    for (double& share : mean_) share /= count;
    HeadSummary out;
    if (choosing_ > 0) out.entropy = relative_entropy_ / static_cast<double>(choosing_);
    out.information = std::max(0.0, entropy_of(mean_) - entropy_ / count);
    const size_t key = static_cast<size_t>(std::max_element(mean_.begin(), mean_.end()) - mean_.begin());
    preferences_.push_back({"token " + panel_.columns[key], mean_[key] * count});
    out.pattern = pattern(out.entropy, count);
    return out;
  }

 private:
  void add_row(size_t i, std::span<const float> row) {
    std::vector<double> shares;
    double sum = 0;
    size_t seen = 0;
    for (const float weight : row) {
      shares.push_back(std::max(weight, 0.0f));
      sum += shares.back();
      seen += weight > 0;
    }
    if (sum <= 0) return;
    for (size_t j = 0; j < keys_; ++j) mean_[j] += shares[j] /= sum;
    const double bits = entropy_of(shares);
    entropy_ += bits;
    if (seen > 1) {
      relative_entropy_ += bits / std::log2(static_cast<double>(seen));
      ++choosing_;
    }
    ++queries_;
    const auto at = static_cast<ptrdiff_t>(own_key(i));
    const bool text = relation_ != TokenRelation::other;
    for (const ptrdiff_t offset : {0, -1, 1}) {
      const ptrdiff_t key = at + offset;
      if (key < 0 || key >= static_cast<ptrdiff_t>(keys_) || (offset != 0 && !text)) continue;
      preferences_[offset == 0 ? 0 : offset < 0 ? 1 : 2].share += shares[static_cast<size_t>(key)];
    }
    preferences_[3].share += shares.front();
    preferences_[4].share += shares.back();
  }

  // The key on the diagonal.
  size_t own_key(size_t i) const {
    const size_t queries = panel_.rows.size();
    if (queries == keys_ || queries == 1) return std::min(i, keys_ - 1);
    return (2 * i * (keys_ - 1) + queries - 1) / (2 * (queries - 1));
  }

  std::string pattern(double entropy, double count) const {
    if (entropy >= 0.9) return "even";
    const auto best = std::max_element(preferences_.begin(), preferences_.end(),
                                       [](const Preference& a, const Preference& b) { return a.share < b.share; });
    const double share = best->share / count;
    if (share >= 0.4 && share * static_cast<double>(keys_) >= 2)
      return fmt::format("{} {:.0f}%", best->name, 100 * share);
    return entropy <= 0.4 ? "focused" : "mixed";
  }

  const Panel& panel_;
  size_t keys_, queries_ = 0, choosing_ = 0;  // choosing: queries that see several keys
  std::vector<double> mean_;                  // over the queries, of each key
  double entropy_ = 0, relative_entropy_ = 0;
  TokenRelation relation_;
  std::vector<Preference> preferences_;
};

}  // namespace

HeadSummary summarize_head(const Panel& panel) { return HeadReader(panel).read(); }

size_t opening_panel(const PanelGroup& group) {
  size_t best = 0;
  double largest = 0;
  for (size_t i = 0; group.heads > 0 && i < group.panels.size(); ++i) {
    const double information = summarize_head(group.panels[i]).information;
    if (information > largest) {
      largest = information;
      best = i;
    }
  }
  return best;
}

}  // namespace qkv
