#include <algorithm>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/decode/proposal_length.h"
#include "qkv/decode/speculation.h"
#include "qkv/decode/top_tokens.h"
#include "qkv/model/causal.h"

namespace qkv {
namespace {

using Ids = std::vector<int32_t>;

class DraftProposer final : public Proposer {
 public:
  DraftProposer(std::shared_ptr<const CausalTransformer> model, int64_t limit)
      : model_(std::move(model)), limit_(limit) {}

  std::vector<Ids> propose(std::span<const Row> rows) override {
    std::vector<Ids> out(rows.size());
    const std::vector<size_t> places = take(rows);  // of the rows of decoding_ in `rows`
    std::vector<int64_t> wanted;
    for (size_t i = 0; i < places.size(); ++i) {
      const Row& row = rows[places[i]];
      wanted.push_back(std::min(read_[i].length.next(row.tokens), row.limit));
    }
    const int64_t steps = wanted.empty() ? 0 : std::ranges::max(wanted);
    if (steps <= 0) return out;
    std::vector<Ids> next = unread(rows, places);
    for (int64_t step = 0; step < steps; ++step) {
      Pass pass;
      const TopTokens top = top_tokens(decoding_->extend(next, pass), 1, {.eos = -1});
      for (size_t i = 0; i < places.size(); ++i) {
        read_[i].tokens.insert(read_[i].tokens.end(), next[i].begin(), next[i].end());
        const std::span<const TokenChoice> best = top.row(static_cast<int64_t>(i));
        require(!best.empty(), "draft_proposer", "all tokens are forbidden after {}", read_[i].tokens.size());
        next[i] = {best.front().id};
        if (step < wanted[i]) out[places[i]].push_back(next[i].front());
      }
    }
    for (size_t i = 0; i < places.size(); ++i)
      read_[i].length.proposed(rows[places[i]].tokens.size(), out[places[i]]);
    return out;
  }

 private:
  struct Read {
    size_t number;  // of the row
    Ids tokens;
    ProposalLength length;
  };

  // Whether the model can read the tokens of the row, and what it proposes but the last one.
  bool fits(const Row& row) const {
    const ModelConfig& config = model_->config();
    return std::ssize(row.tokens) + limit_ <= config.position_limit() &&
           std::ranges::all_of(row.tokens, [&](int32_t id) { return id < config.target_vocabulary(); });
  }

  // Drops the rows that have ended or do not fit any more, and begins those that joined.
  std::vector<size_t> take(std::span<const Row> rows) {
    std::vector<size_t> places;
    std::vector<int64_t> kept;
    std::vector<Read> rest;
    for (size_t i = 0, place = 0; i < read_.size(); ++i) {
      while (place < rows.size() && rows[place].number < read_[i].number) ++place;
      if (place == rows.size() || rows[place].number != read_[i].number || !fits(rows[place])) continue;
      places.push_back(place);
      kept.push_back(static_cast<int64_t>(i));
      rest.push_back(std::move(read_[i]));
    }
    if (rest.size() < read_.size()) decoding_->reorder(kept);
    read_ = std::move(rest);
    begin_joined(rows, places);
    return places;
  }

  void begin_joined(std::span<const Row> rows, std::vector<size_t>& places) {
    const size_t before = places.size();
    for (size_t place = 0; place < rows.size(); ++place) {
      if (rows[place].number < next_number_) continue;
      next_number_ = rows[place].number + 1;
      if (!fits(rows[place])) continue;
      places.push_back(place);
      read_.push_back({rows[place].number, {}, ProposalLength(limit_)});
    }
    if (places.size() == before) return;
    std::unique_ptr<Decoding> joined = model_->start(std::ssize(places) - static_cast<int64_t>(before));
    if (decoding_)
      decoding_->join(*joined);
    else
      decoding_ = std::move(joined);
  }

  // Goes back to what the rows share with what was read of them, at most all but the last token; the tokens after that.
  std::vector<Ids> unread(std::span<const Row> rows, std::span<const size_t> places) {
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < places.size(); ++i) {
      const auto tokens = rows[places[i]].tokens;
      const Ids& read = read_[i].tokens;
      const auto same = std::ranges::mismatch(tokens.first(tokens.size() - 1), read).in1 - tokens.begin();
      lengths.push_back(same);
    }
    decoding_->truncate(lengths);
    std::vector<Ids> next;
    for (size_t i = 0; i < places.size(); ++i) {
      const auto tokens = rows[places[i]].tokens;
      const auto length = static_cast<size_t>(decoding_->position(static_cast<int64_t>(i)));
      read_[i].tokens.resize(length);
      next.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(length), tokens.end());
    }
    return next;
  }

  std::shared_ptr<const CausalTransformer> model_;
  int64_t limit_;
  size_t next_number_ = 0;  // of the rows that have not been seen
  std::unique_ptr<Decoding> decoding_;
  std::vector<Read> read_;  // of its rows, in the order of their numbers
};

}  // namespace

std::shared_ptr<Proposer> draft_proposer(std::shared_ptr<const CausalTransformer> model, int64_t limit) {
  require<UsageError>(limit >= 1, "draft_proposer", "the number of tokens must be at least 1, got {}", limit);
  return std::make_shared<DraftProposer>(std::move(model), limit);
}

}  // namespace qkv
