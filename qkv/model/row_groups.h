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
//     Group select(std::span<const int64_t> from, bool replaces) const;
//
// select() returns a group of the given rows, in this order. `from` has the same number of adjacent rows for each
// row of the memory that it uses.
// `replaces`: the group is not selected from again, so the result may share its caches.
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
};

template <class Group>
void RowGroups<Group>::reorder(std::span<const int64_t> source) {
  std::vector<Place> places;
  std::vector<int64_t> uses(groups_.size());
  for (const int64_t row : source) {
    places.push_back(place_of(row));
    ++uses[places.back().group];
  }
  // Runs of rows that share a row of the memory; runs of equal length of the same group become a group.
  std::vector<Group> groups;
  std::vector<int64_t> from;
  size_t begin = 0, run = 0;  // of the new group; the number of rows of each of its runs
  const auto add = [&] {
    if (from.empty()) return;
    const size_t group = places[begin].group;
    groups.push_back(groups_[group].select(from, uses[group] == std::ssize(from)));
    from.clear();
  };
  for (size_t i = 0; i < places.size();) {
    size_t end = i + 1;
    while (end < places.size() && places[end].group == places[i].group &&
           memory_of(places[end]) == memory_of(places[i]))
      ++end;
    const bool shares = groups_[places[i].group].has_memory();
    if (places[i].group != places[begin].group || (shares && i > begin && end - i != run)) {
      add();
      begin = i;
    }
    run = end - i;
    for (; i < end; ++i) from.push_back(places[i].row);
  }
  add();
  groups_ = std::move(groups);
}

// Makes groups of rows that get the same number of tokens, as rows that share a row of the memory must.
template <class Group>
void RowGroups<Group>::split_by_length(std::span<const int64_t> lengths) {
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
      groups.push_back(group.select(from, false));
    }
  }
  groups_ = std::move(groups);
}

}  // namespace qkv
