// Rows of tokens that grow, in groups that are computed together: the bookkeeping of a Decoding.
//
//     RowGroups<Group> rows(Group{...});                  // one group of Group::rows rows
//     rows.split_by_length({1, 1, 5});                    // now all rows of a group get the same number of tokens
//     rows.reorder({0, 0, 1});                            // two continuations of row 0, one of row 1
//     for (Group& group : rows.groups()) ...              // rows in order: those of the first group come first
//
// A Group has:
//
//     int64_t rows;
//     bool has_memory() const;                            // with a row for each source, such as its encoded tokens
//     int64_t rows_per_memory() const;                    // adjacent rows that share a row of the memory
//     static Group select(Group group, std::span<const int64_t> from, bool replaces);
//
// select() returns the given rows of a group, in this order. `from` has the same number of adjacent rows for each
// row of the memory that it uses.
// `replaces`: the group is not selected from again; then it is moved, and the result may share its caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {

// Whether from is 0, 1, ..., rows - 1.
inline bool are_all_rows(std::span<const int64_t> from, int64_t rows) {
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != static_cast<int64_t>(i)) return false;
  return std::ssize(from) == rows;
}

template <class Group>
class RowGroups {
 public:
  RowGroups() = default;
  explicit RowGroups(Group group) { groups_.push_back(std::move(group)); }

  int64_t count() const {
    return std::accumulate(groups_.begin(), groups_.end(), int64_t{0},
                           [](int64_t sum, const Group& group) { return sum + group.rows; });
  }
  std::vector<Group>& groups() { return groups_; }
  const Group& group_of(int64_t row) const { return groups_[place_of(row).group]; }

  // Row r continues row source[r]. Rows may be repeated, dropped and permuted; this is fast if the rows that share
  // a row of the memory stay adjacent.
  void reorder(std::span<const int64_t> source);
  // Appends the rows of the other.
  void join(RowGroups other) {
    for (Group& group : other.groups_) groups_.push_back(std::move(group));
  }
  void split_by_length(std::span<const int64_t> lengths);

 private:
  bool have_lengths(std::span<const int64_t> lengths) const;  // each group one
  struct Place {
    size_t group;
    int64_t row;  // in the group
  };
  Place place_of(int64_t row) const {
    require(row >= 0 && row < count(), "Decoding", "there are {} rows, got {}", count(), row);
    Place place = {0, row};
    for (; place.row >= groups_[place.group].rows; ++place.group) place.row -= groups_[place.group].rows;
    return place;
  }
  // The row of the memory that belongs to a row.
  int64_t memory_of(const Place& place) const { return place.row / groups_[place.group].rows_per_memory(); }

  std::vector<Group> groups_;
  // Of reorder(), kept so that the next one allocates nothing.
  std::vector<Group> next_;
  std::vector<Place> places_;
  std::vector<int64_t> uses_, from_;
};

template <class Group>
void RowGroups<Group>::reorder(std::span<const int64_t> source) {
  places_.clear();
  uses_.assign(groups_.size(), 0);
  for (const int64_t row : source) {
    places_.push_back(place_of(row));
    ++uses_[places_.back().group];
  }
  // Runs of rows that share a row of the memory; runs of equal length of the same group become a group.
  next_.clear();
  from_.clear();
  size_t begin = 0, run = 0;  // of the new group; the number of rows of each of its runs
  const auto add = [&] {
    if (from_.empty()) return;
    const size_t group = places_[begin].group;
    const bool replaces = uses_[group] == std::ssize(from_);
    next_.push_back(Group::select(replaces ? std::move(groups_[group]) : groups_[group], from_, replaces));
    from_.clear();
  };
  for (size_t i = 0; i < places_.size();) {
    size_t end = i + 1;
    while (end < places_.size() && places_[end].group == places_[i].group &&
           memory_of(places_[end]) == memory_of(places_[i]))
      ++end;
    const bool shares = groups_[places_[i].group].has_memory();
    if (places_[i].group != places_[begin].group || (shares && i > begin && end - i != run)) {
      add();
      begin = i;
    }
    run = end - i;
    for (; i < end; ++i) from_.push_back(places_[i].row);
  }
  add();
  groups_.swap(next_);
  next_.clear();
}

template <class Group>
bool RowGroups<Group>::have_lengths(std::span<const int64_t> lengths) const {
  for (const Group& group : groups_) {
    const std::span<const int64_t> own = lengths.subspan(0, static_cast<size_t>(group.rows));
    if (own.empty() || std::adjacent_find(own.begin(), own.end(), std::not_equal_to<>()) != own.end()) return false;
    lengths = lengths.subspan(own.size());
  }
  return true;
}

// Makes groups of rows that get the same number of tokens, as rows that share a row of the memory must.
template <class Group>
void RowGroups<Group>::split_by_length(std::span<const int64_t> lengths) {
  if (have_lengths(lengths)) return;
  std::vector<Group> groups;
  for (Group& group : groups_) {
    const std::span<const int64_t> own = lengths.subspan(0, static_cast<size_t>(group.rows));
    lengths = lengths.subspan(own.size());
    const auto change = std::adjacent_find(own.begin(), own.end(), std::not_equal_to<>());
    if (!own.empty() && change == own.end()) {
      groups.push_back(std::move(group));
      continue;
    }
    for (size_t begin = 0, end = 0; begin < own.size(); begin = end) {
      while (end < own.size() && own[end] == own[begin]) ++end;
      require(std::ssize(own.subspan(0, end)) % group.rows_per_memory() == 0, "Decoding::extend",
              "all rows of a sentence must get equally many tokens");
      std::vector<int64_t> from(end - begin);
      std::iota(from.begin(), from.end(), static_cast<int64_t>(begin));
      groups.push_back(Group::select(group, from, false));
    }
  }
  groups_ = std::move(groups);
}

}  // namespace qkv
