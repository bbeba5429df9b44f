#include "qkv/metric/edits.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace qkv::metric {

namespace {

constexpr int64_t longest_move = 10, farthest_move = 50, max_candidates = 1000, beam = 25;

// Edit operations, from the hypothesis to the reference.
enum class Edit : uint8_t { keep, replace, remove, insert };

// Levenshtein distance, a row per hypothesis word; ties are resolved in the order keep and replace, remove, insert.
// Only cells near the diagonal are computed, and all of the first and the last row.
class Distance {
 public:
  explicit Distance(std::u32string_view reference) : reference_(reference) {}

  int64_t operator()(std::u32string_view hypothesis) {
    const auto rows = static_cast<int64_t>(hypothesis.size()), columns = static_cast<int64_t>(reference_.size());
    rows_.clear();
    cells_.clear();
    begin_row(0, columns + 1);
    for (int64_t j = 0; j <= columns; ++j) cells_.push_back({j, Edit::insert});
    const double slope = rows == 0 ? 1.0 : static_cast<double>(columns) / static_cast<double>(rows);
    const int64_t width = beam < slope / 2 ? static_cast<int64_t>(std::ceil(slope / 2 + beam)) : beam;
    for (int64_t i = 1; i <= rows; ++i) {
      const auto diagonal = static_cast<int64_t>(std::floor(static_cast<double>(i) * slope));
      begin_row(std::max<int64_t>(0, diagonal - width),
                i == rows ? columns + 1 : std::min(columns + 1, diagonal + width));
      for (int64_t j = rows_.back().first; j < rows_.back().end; ++j)
        cells_.push_back(cheapest(i, j, hypothesis[static_cast<size_t>(i - 1)]));
    }
    return at(rows, columns).cost;
  }

  // The edits of the last distance computed, from the first word on.
  std::vector<Edit> trace() const {
    std::vector<Edit> trace;
    for (int64_t i = static_cast<int64_t>(rows_.size()) - 1, j = static_cast<int64_t>(reference_.size());
         i > 0 || j > 0;) {
      const Edit edit = at(i, j).edit;
      trace.push_back(edit);
      i -= edit != Edit::insert;
      j -= edit != Edit::remove;
    }
    std::reverse(trace.begin(), trace.end());
    return trace;
  }

 private:
  static constexpr int64_t infinite = INT64_MAX / 2;
  struct Cell {
    int64_t cost = infinite;
    Edit edit = Edit::keep;
  };
  struct Row {
    int64_t first, end;  // the columns computed
    size_t start;        // their index in cells_
  };

  void begin_row(int64_t first, int64_t end) { rows_.push_back({first, end, cells_.size()}); }

  Cell at(int64_t i, int64_t j) const {
    const Row& row = rows_[static_cast<size_t>(i)];
    const size_t position = row.start + static_cast<size_t>(j - row.first);
    return j < row.first || j >= row.end || position >= cells_.size() ? Cell() : cells_[position];
  }

  Cell cheapest(int64_t i, int64_t j, char32_t word) const {
    Cell best;
    const auto offer = [&](int64_t cost, Edit edit) {
      if (cost < best.cost) best = {cost, edit};
    };
    if (j > 0) {
      const bool same = word == reference_[static_cast<size_t>(j - 1)];
      offer(at(i - 1, j - 1).cost + (same ? 0 : 1), same ? Edit::keep : Edit::replace);
    }
    offer(at(i - 1, j).cost + 1, Edit::remove);
    if (j > 0) offer(at(i, j - 1).cost + 1, Edit::insert);
    return best;
  }

  std::u32string_view reference_;
  std::vector<Row> rows_;
  std::vector<Cell> cells_;
};

// The hypothesis word aligned with each reference word (-1: before the first), and which words are wrong.
struct Alignment {
  std::vector<int64_t> positions;
  std::vector<bool> hypothesis_wrong, reference_wrong;

  explicit Alignment(const std::vector<Edit>& trace) {
    int64_t position = -1;
    for (const Edit edit : trace) {
      const bool wrong = edit != Edit::keep;
      if (edit != Edit::insert) {
        ++position;
        hypothesis_wrong.push_back(wrong);
      }
      if (edit != Edit::remove) {
        positions.push_back(position);
        reference_wrong.push_back(wrong);
      }
    }
  }
};

bool any(const std::vector<bool>& wrong, int64_t begin, int64_t count) {
  return std::find(wrong.begin() + begin, wrong.begin() + begin + count, true) != wrong.begin() + begin + count;
}

std::u32string moved(std::u32string_view words, int64_t begin, int64_t count, int64_t to) {
  const auto start = static_cast<size_t>(begin), length = static_cast<size_t>(count),
             target = static_cast<size_t>(to);
  const std::u32string_view block = words.substr(start, length);
  std::u32string rest(words.substr(0, start));
  rest += words.substr(start + length);
  // The position counts words before the move; one inside or after the block has fewer words before it afterwards.
  const size_t position = target < start            ? target
                          : target > start + length ? target - length
                                                    : std::min(target, rest.size());
  return rest.insert(position, block);
}

// Moves in the order of preference: largest saving, longest, first source position, first target position.
struct Move {
  int64_t saved, length, begin, to;
  auto rank() const { return std::tuple(saved, length, -begin, -to); }
};

class Mover {
 public:
  Mover(std::u32string_view hypothesis, std::u32string_view reference)
      : words_(hypothesis), reference_(reference), distance_(reference) {}

  int64_t edits() {
    int64_t moves = 0;
    for (;;) {
      const std::optional<Move> best = best_move();
      if (tried_ >= max_candidates || !best || best->saved <= 0) break;
      words_ = moved(words_, best->begin, best->length, best->to);
      ++moves;
    }
    return moves + distance_(words_);
  }

 private:
  std::optional<Move> best_move() {
    best_.reset();
    before_ = distance_(words_);
    const Alignment alignment(distance_.trace());
    const auto words = static_cast<int64_t>(words_.size()), wanted = static_cast<int64_t>(reference_.size());
    for (int64_t begin = 0; begin < words; ++begin) {
      const int64_t first = std::max<int64_t>(0, begin - farthest_move),
                    end = std::min(wanted, begin + farthest_move + 1);
      for (int64_t at = first; at < end; ++at) {
        const int64_t longest = std::min({longest_move, words - begin, wanted - at});
        for (int64_t n = 0; n < longest && same(begin + n, at + n);) {
          try_moves(alignment, begin, at, ++n);
          if (tried_ >= max_candidates) return best_;
        }
      }
    }
    return best_;
  }

  bool same(int64_t word, int64_t at) const {
    return words_[static_cast<size_t>(word)] == reference_[static_cast<size_t>(at)];
  }

  // Words that match the reference elsewhere are moved there, if both they and the words there are wrong.
  void try_moves(const Alignment& alignment, int64_t begin, int64_t at, int64_t length) {
    if (!any(alignment.hypothesis_wrong, begin, length) || !any(alignment.reference_wrong, at, length)) return;
    const int64_t position = alignment.positions[static_cast<size_t>(at)];
    if (begin <= position && position < begin + length) return;
    int64_t last = -1;
    for (int64_t offset = -1; offset < length; ++offset) {
      const int64_t to = at + offset < 0 ? 0 : alignment.positions[static_cast<size_t>(at + offset)] + 1;
      if (to == last) continue;
      last = to;
      const Move move{before_ - distance_(moved(words_, begin, length, to)), length, begin, to};
      ++tried_;
      if (!best_ || move.rank() > best_->rank()) best_ = move;
    }
  }

  std::u32string words_;
  std::u32string_view reference_;
  Distance distance_;
  std::optional<Move> best_;
  int64_t before_ = 0, tried_ = 0;
};

}  // namespace

int64_t edits(std::u32string_view hypothesis, std::u32string_view reference) {
  if (reference.empty()) return static_cast<int64_t>(hypothesis.size());
  return Mover(hypothesis, reference).edits();
}

}  // namespace qkv::metric
