#include "qkv/attention/mask/documents.h"

#include <algorithm>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {
namespace {

// The queries of a block that belong to one document.
struct Group {
  int32_t id;
  uint64_t queries;
};

// The documents of a block, in order of appearance.
class Groups {
 public:
  Groups(const int32_t* ids, int64_t queries) {
    for (int64_t i = 0; i < queries; ++i) {
      if (i == 0 || ids[i] != ids[i - 1]) last_ = index_of(ids[i]);
      groups_[last_].queries |= uint64_t{1} << i;
    }
  }
  const Group* begin() const { return groups_; }
  const Group* end() const { return groups_ + count_; }
  uint64_t of(int32_t id) const {
    for (const Group& group : *this)
      if (group.id == id) return group.queries;
    return 0;
  }

 private:
  int64_t index_of(int32_t id) {
    for (int64_t n = 0; n < count_; ++n)
      if (groups_[n].id == id) return n;
    groups_[count_] = {id, 0};
    return count_++;
  }

  Group groups_[max_block_queries];
  int64_t count_ = 0, last_ = 0;
};

// The range of keys that holds all keys of a document.
struct Extent {
  int32_t id = 0;
  KeyRange keys;
};

// Sorted by document.
std::vector<Extent> extents_of(const int32_t* ids, int64_t count) {
  std::vector<Extent> extents;
  for (int64_t j = 0; j < count; ++j) {
    if (j == 0 || ids[j] != ids[j - 1]) extents.push_back({ids[j], {j, j}});
    extents.back().keys.end = j + 1;
  }
  std::stable_sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.id < b.id; });
  size_t kept = 0;
  for (const Extent& extent : extents) {
    if (kept > 0 && extents[kept - 1].id == extent.id) {
      extents[kept - 1].keys.end = extent.keys.end;  // runs of a document are in the order of their keys
    } else {
      extents[kept++] = extent;
    }
  }
  extents.resize(kept);
  return extents;
}

class Documents final : public Mask {
 public:
  Documents(Tensor of_queries, Tensor of_keys) : of_queries_(std::move(of_queries)), of_keys_(std::move(of_keys)) {
    for (int64_t batch = 0; batch < of_keys_.dim(0); ++batch)
      extents_.push_back(extents_of(row(of_keys_, batch), of_keys_.dim(1)));
  }

  void check(const AttentionShape& s) const override {
    const auto fits = [&](const Tensor& ids, int64_t length) {
      return (ids.dim(0) == 1 || ids.dim(0) == s.B) && ids.dim(1) == length;
    };
    require(fits(of_queries_, s.T) && fits(of_keys_, s.S), "documents",
            "the ids of queries are {}, of keys {}; expected (1 or B, T) and (1 or B, S) for B {}, T {}, S {}",
            describe("BT", of_queries_.shape()), describe("BS", of_keys_.shape()), s.B, s.T, s.S);
  }
  KeyRange key_range(const QueryBlock& block) const override {
    const std::vector<Extent>& extents = extents_[extents_.size() == 1 ? 0 : static_cast<size_t>(block.batch)];
    KeyRange range{block.shape->S, 0};
    for (const Group& group : groups(block)) {
      const auto at = std::lower_bound(extents.begin(), extents.end(), group.id,
                                       [](const Extent& extent, int32_t id) { return extent.id < id; });
      if (at == extents.end() || at->id != group.id) continue;
      range.begin = std::min(range.begin, at->keys.begin);
      range.end = std::max(range.end, at->keys.end);
    }
    return range;
  }
  Visibility classify(const Tile& tile) const override {
    uint64_t visible[max_block_keys], any = 0, all = first_queries(tile.queries);
    fill(tile, visible);
    for (int64_t j = 0; j < tile.keys; ++j) {
      any |= visible[j];
      all &= visible[j];
    }
    if (any == 0) return Visibility::masked;
    return all == first_queries(tile.queries) ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    const Groups of_block = groups(tile);
    const int32_t* ids = row(of_keys_, tile.batch) + tile.key;
    for (int64_t j = 0; j < tile.keys; ++j)
      visible[j] = j > 0 && ids[j] == ids[j - 1] ? visible[j - 1] : of_block.of(ids[j]);
  }
  std::string name() const override { return "documents(ids)"; }

 private:
  static const int32_t* row(const Tensor& ids, int64_t batch) {
    return ids.data<int32_t>() + (ids.dim(0) == 1 ? 0 : batch * ids.dim(1));
  }
  Groups groups(const QueryBlock& block) const {
    return {row(of_queries_, block.batch) + block.query, block.queries};
  }

  Tensor of_queries_, of_keys_;
  std::vector<std::vector<Extent>> extents_;  // per row of of_keys_
};

}  // namespace

MaskPtr documents(const Tensor& of_queries, const Tensor& of_keys) {
  for (const Tensor* ids : {&of_queries, &of_keys})
    require(ids->dtype() == DType::i32 && ids->rank() == 2, "documents",
            "ids must be i32 of shape (B, T) or (B, S), got {} {}", name_of(ids->dtype()), ids->shape());
  return std::make_shared<Documents>(of_queries.contiguous_copy(), of_keys.contiguous_copy());
}

}  // namespace qkv
