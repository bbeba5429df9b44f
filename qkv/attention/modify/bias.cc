#include "qkv/attention/modify/bias.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

// The elements of a tile in a (B, H, T, S) array; an axis of length 1 has step 0.
template <class T>
struct TileView {
  T* at;
  int64_t query_step, key_step;

  TileView(T* data, const Shape& shape, const Shape& strides, const Tile& tile) {
    const auto step = [&](int axis) { return shape[axis] == 1 ? 0 : strides[axis]; };
    query_step = step(2);
    key_step = step(3);
    at = data + tile.batch * step(0) + tile.head * step(1) + tile.query * query_step + tile.key * key_step;
  }
};

Shape contiguous_strides(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

class Bias final : public Modifier {
 public:
  explicit Bias(Variable numbers) : numbers_(std::move(numbers)) {}

  void check(const AttentionShape& s) const override {
    const Shape& shape = numbers_.shape();
    const int64_t expected[4] = {s.B, s.H, s.T, s.S};
    for (int axis = 0; axis < 4; ++axis)
      require(shape[axis] == 1 || shape[axis] == expected[axis], "bias",
              "the bias is {}; each axis must be 1 or as in (B {}, H {}, T {}, S {})", describe("BHTS", shape), s.B,
              s.H, s.T, s.S);
  }

  // In a tile the queries are contiguous, in a bias usually the keys.
  void forward(const Tile& tile, float* s) const override {
    const Tensor& x = numbers_.value();
    const TileView<const float> b(x.data<float>(), x.shape(), x.strides(), tile);
    const auto& kernels = kernel::kernels();
    if (b.query_step == 0) {
      for (int64_t j = 0; j < tile.keys; ++j) {
        const float of_key = b.at[j * b.key_step];
        for (int64_t i = 0; i < tile.width; ++i) s[j * tile.width + i] += of_key;
      }
    } else if (b.query_step == 1) {
      for (int64_t j = 0; j < tile.keys; ++j) {
        float* row = s + j * tile.width;
        kernels.rows.add(row, b.at + j * b.key_step, tile.queries, row);
      }
    } else if (b.key_step == 1) {
      Scratch scratch;
      float* transposed = scratch.floats(tile.keys * tile.width);
      kernels.attention.transpose_in(b.at, b.query_step, tile.queries, tile.keys, transposed, tile.width,
                                     tile.width);
      kernels.rows.add(s, transposed, tile.keys * tile.width, s);
    } else {
      for (int64_t j = 0; j < tile.keys; ++j)
        for (int64_t i = 0; i < tile.queries; ++i) s[j * tile.width + i] += b.at[i * b.query_step + j * b.key_step];
    }
  }

  void backward(const Tile& tile, const float* /*modified*/, float* ds, float* parameters) const override {
    if (!numbers_.requires_grad()) return;
    const TileView<float> g(parameters, numbers_.shape(), contiguous_strides(numbers_.shape()), tile);
    const auto& kernels = kernel::kernels();
    if (g.query_step == 0) {
      for (int64_t j = 0; j < tile.keys; ++j)
        g.at[j * g.key_step] += static_cast<float>(kernels.rows.sum(ds + j * tile.width, tile.queries));
    } else if (g.key_step == 0) {  // so the queries are contiguous
      for (int64_t j = 0; j < tile.keys; ++j) kernels.rows.add(g.at, ds + j * tile.width, tile.queries, g.at);
    } else {
      Scratch scratch;
      float* transposed = scratch.floats(tile.queries * tile.keys);
      float ones[max_block_queries];
      std::fill_n(ones, max_block_queries, 1.0f);
      kernels.attention.transpose_out(ds, tile.width, tile.queries, tile.keys, ones, transposed, tile.keys);
      for (int64_t i = 0; i < tile.queries; ++i) {
        float* row = g.at + i * g.query_step;
        kernels.rows.add(row, transposed + i * tile.keys, tile.keys, row);
      }
    }
  }
  std::vector<Variable> parameters() const override {
    return numbers_.requires_grad() ? std::vector{numbers_} : std::vector<Variable>{};
  }
  std::string name() const override { return fmt::format("bias{}", numbers_.shape()); }

 private:
  Variable numbers_;
};

}  // namespace

ModifierPtr bias(const Variable& numbers) {
  require(numbers.defined() && numbers.value().dtype() == DType::f32 && numbers.value().rank() == 4, "bias",
          "the bias must be f32 of shape (B, H, T, S), got {}",
          numbers.defined() ? to_string(numbers.shape()) : "nothing");
  return std::make_shared<Bias>(numbers);
}

}  // namespace qkv
