#include "qkv/attention/modify/relative_bias.h"

#include <algorithm>

#include "qkv/attention/modify/distance_bias.h"
#include "qkv/base/counted.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

using namespace internal;

// A run of distances in one bucket: from `first` to the next run.
struct Run {
  int64_t first, bucket;
};

constexpr int64_t max_distance = int64_t{1} << 40;  // longer than any sequence

// All runs, from the smallest distance on. relative_bucket() is monotonic on (-infinity, 0] and on [1, infinity),
// so the ends of runs are found by bisection.
std::vector<Run> runs_of(const RelativeBuckets& options) {
  std::vector<Run> runs;
  const auto append_runs = [&](int64_t from, int64_t to) {  // both inclusive
    for (int64_t first = from; first <= to;) {
      const int64_t bucket = relative_bucket(first, options);
      runs.push_back({first, bucket});
      int64_t inside = first, outside = to + 1;
      while (outside - inside > 1) {
        const int64_t middle = inside + (outside - inside) / 2;
        (relative_bucket(middle, options) == bucket ? inside : outside) = middle;
      }
      first = outside;
    }
  };
  append_runs(-max_distance, 0);
  append_runs(1, max_distance);
  return runs;
}

class RelativeBias final : public Modifier {
 public:
  RelativeBias(Variable table, const RelativeBuckets& buckets)
      : table_(std::move(table)), runs_(runs_of(buckets)) {}

  void check(const AttentionShape& shape) const override {
    require(table_.dim(1) == shape.H, "relative_bias", "the table is {} for H {} query heads",
            describe("NH", table_.shape()), shape.H);
  }
  void forward(const Tile& tile, float* s) const override {
    const Tensor& table = table_.value();
    const float* of_head = table.data<float>() + tile.head * table.stride(1);
    float bias[max_tile_distances];
    for_each_run(tile, [&](int64_t bucket, int64_t begin, int64_t end) {
      std::fill(bias + begin, bias + end, of_head[bucket * table.stride(0)]);
    });
    add_by_distance(tile, bias, s);
  }
  void backward(const Tile& tile, const float* /*modified*/, float* ds, float* parameters) const override {
    if (!table_.requires_grad()) return;
    float sums[max_tile_distances];
    sum_by_distance(tile, ds, sums);
    for_each_run(tile, [&](int64_t bucket, int64_t begin, int64_t end) {
      double total = 0;
      for (int64_t t = begin; t < end; ++t) total += static_cast<double>(sums[t]);
      parameters[bucket * table_.dim(1) + tile.head] += static_cast<float>(total);
    });
  }
  std::vector<Variable> parameters() const override {
    return table_.requires_grad() ? std::vector{table_} : std::vector<Variable>{};
  }
  std::string name() const override { return fmt::format("relative_bias({})", counted(table_.dim(0), "bucket")); }

 private:
  // Calls visit(bucket, begin, end) for the runs of the tile's distances: those with t in [begin, end) are in the
  // bucket.
  template <class Visit>
  void for_each_run(const Tile& tile, Visit visit) const {
    const TileDistances distances(tile);
    const auto begins_after = [](int64_t distance, const Run& run) { return distance < run.first; };
    auto run = std::upper_bound(runs_.begin(), runs_.end(), distances.largest, begins_after) - 1;
    for (int64_t begin = 0; begin < distances.count; --run) {
      const int64_t end = std::min(distances.count, distances.largest - run->first + 1);
      visit(run->bucket, begin, end);
      begin = end;
    }
  }

  Variable table_;
  std::vector<Run> runs_;
};

}  // namespace

ModifierPtr relative_bias(const Variable& table, const RelativeBuckets& buckets) {
  require(table.defined() && table.value().dtype() == DType::f32 && table.value().rank() == 2 &&
              table.dim(0) == buckets.num_buckets,
          "relative_bias", "the table must be f32 of shape (num_buckets {}, H), got {}", buckets.num_buckets,
          table.defined() ? to_string(table.shape()) : "nothing");
  return std::make_shared<RelativeBias>(table, buckets);
}

}  // namespace qkv
