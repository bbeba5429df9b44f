#include "qkv/attention/mask/documents.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Documents final : public Mask {
 public:
  Documents(Tensor of_queries, Tensor of_keys) : of_queries_(std::move(of_queries)), of_keys_(std::move(of_keys)) {}

  void check(const AttentionShape& s) const override {
    const auto fits = [&](const Tensor& ids, int64_t length) {
      return (ids.dim(0) == 1 || ids.dim(0) == s.B) && ids.dim(1) == length;
    };
    require(fits(of_queries_, s.T) && fits(of_keys_, s.S), "documents",
            "ids of queries {} and of keys {} for B {}, T {}, S {}", describe("BT", of_queries_.shape()),
            describe("BS", of_keys_.shape()), s.B, s.T, s.S);
  }
  Visibility look(const Tile& tile) const override {
    const int32_t *q = queries(tile), *k = keys_of(tile);
    const auto [q_least, q_most] = std::minmax_element(q, q + tile.queries);
    const auto [k_least, k_most] = std::minmax_element(k, k + tile.keys);
    if (*q_most < *k_least || *k_most < *q_least) return Visibility::none;
    const bool one = *q_least == *q_most && *k_least == *k_most && *q_least == *k_least;
    return one ? Visibility::all : Visibility::some;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    const int32_t *q = queries(tile), *k = keys_of(tile);
    for (int64_t j = 0; j < tile.keys; ++j) {
      visible[j] = 0;
      for (int64_t i = 0; i < tile.queries; ++i) visible[j] |= uint64_t{q[i] == k[j]} << i;
    }
  }
  std::string name() const override { return "documents(ids)"; }

 private:
  static const int32_t* row(const Tensor& ids, int64_t batch) {
    return ids.data<int32_t>() + (ids.dim(0) == 1 ? 0 : batch * ids.dim(1));
  }
  const int32_t* queries(const Tile& tile) const { return row(of_queries_, tile.batch) + tile.query; }
  const int32_t* keys_of(const Tile& tile) const { return row(of_keys_, tile.batch) + tile.key; }

  Tensor of_queries_, of_keys_;
};

}  // namespace

MaskPtr documents(const Tensor& of_queries, const Tensor& of_keys) {
  for (const Tensor* ids : {&of_queries, &of_keys})
    require(ids->dtype() == DType::i32 && ids->rank() == 2, "documents",
            "ids are i32 of shape (B, T) or (B, S), got {} {}", name_of(ids->dtype()), ids->shape());
  return std::make_shared<Documents>(of_queries.contiguous_copy(), of_keys.contiguous_copy());
}

}  // namespace qkv
