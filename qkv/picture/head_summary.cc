#include "qkv/picture/head_summary.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "qkv/interpret/pattern/current_token.h"
#include "qkv/interpret/pattern/diagonal.h"
#include "qkv/interpret/pattern/first_token.h"
#include "qkv/interpret/pattern/next_token.h"
#include "qkv/interpret/pattern/previous_token.h"

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

// Positions of which a head may prefer one, each with the share of its weight; none: it has no such position.
struct Preference {
  std::string name;
  std::optional<double> share;
};

double entropy_of(const std::vector<double>& shares) {
  double bits = 0;
  for (const double share : shares)
    if (share > 0) bits -= share * std::log2(share);
  return bits;
}

class HeadReader {
 public:
  explicit HeadReader(const Panel& panel) : panel_(panel), keys_(panel.columns.size()), mean_(keys_) {}

  HeadSummary read() {
    const std::span<const float> weights = panel_.weights.span<float>();
    shares_.reserve(weights.size());
    for (size_t i = 0; i < panel_.rows.size(); ++i) add_row(weights.subspan(i * keys_, keys_));
    if (queries_ == 0) return {.pattern = "nothing"};
    const double count = static_cast<double>(queries_);
    for (double& share : mean_) share /= count;
    HeadSummary out;
    if (choosing_ > 0) out.entropy = relative_entropy_ / static_cast<double>(choosing_);
    out.information = std::max(0.0, entropy_of(mean_) - entropy_ / count);
    out.pattern = pattern(out.entropy);
    return out;
  }

 private:
  void add_row(std::span<const float> row) {
    std::vector<double> shares;
    double sum = 0;
    size_t seen = 0;
    for (const float weight : row) {
      shares.push_back(std::max(weight, 0.0f));
      sum += shares.back();
      seen += weight > 0;
    }
    if (sum <= 0) {
      shares_.insert(shares_.end(), keys_, HeadWeights::no_query);
      return;
    }
    for (size_t j = 0; j < keys_; ++j) mean_[j] += shares[j] /= sum;
    shares_.insert(shares_.end(), shares.begin(), shares.end());
    const double bits = entropy_of(shares);
    entropy_ += bits;
    if (seen > 1) {
      relative_entropy_ += bits / std::log2(static_cast<double>(seen));
      ++choosing_;
    }
    ++queries_;
  }

  std::vector<Preference> preferences() const {
    const TokenRelation relation = relation_of(panel_);
    const HeadWeights head = {.weights = shares_, .keys = panel_.columns, .self = relation != TokenRelation::other};
    const std::string &first = panel_.columns.front(), &last = panel_.columns.back();
    const size_t key = static_cast<size_t>(std::max_element(mean_.begin(), mean_.end()) - mean_.begin());
    return {{relation == TokenRelation::same ? "same token" : "current token", pattern::current_token(head)},
            {"diagonal", pattern::diagonal(head)},
            {"previous token", pattern::previous_token(head)},
            {"next token", pattern::next_token(head)},
            {first == "0" ? "first key" : "first token " + first, pattern::first_token(head)},
            {"last token " + last, mean_.back()},
            {"token " + panel_.columns[key], mean_[key]}};
  }

  std::string pattern(double entropy) const {
    if (entropy >= 0.9) return "even";
    const std::vector<Preference> all = preferences();
    const auto best = std::max_element(all.begin(), all.end(),
                                       [](const Preference& a, const Preference& b) { return a.share < b.share; });
    const double share = best->share.value_or(0);
    if (share >= 0.4 && share * static_cast<double>(keys_) >= 2)
      return fmt::format("{} {:.0f}%", best->name, 100 * share);
    return entropy <= 0.4 ? "focused" : "mixed";
  }

  const Panel& panel_;
  size_t keys_, queries_ = 0, choosing_ = 0;  // choosing: queries that see several keys
  std::vector<float> shares_;                 // (T,S): the weights, with rows that sum to 1
  std::vector<double> mean_;                  // over the queries, of each key
  double entropy_ = 0, relative_entropy_ = 0;
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
