#include "qkv/op/maximum_inner_product.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/quantized_matrix.h"
#include "qkv/op/larger_numbers.h"
#include "qkv/op/product_work.h"

namespace qkv {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double float_error = 0x1p-24, bf16_error = 0x1p-8;

// At most this share of the product is computed after the search.
constexpr int64_t max_share = 8;

// Of the finite ones: a column whose bias is -infinity is never a candidate.
double norm_of_bias(const Tensor& bias) {
  if (!bias.defined()) return 0;
  const double squares = kernel::kernels().rows.sum_of_squares(bias.data<float>(), bias.numel());
  if (std::isfinite(squares)) return std::sqrt(squares);
  double finite = 0;
  for (const float b : bias.span<float>())
    if (std::isfinite(b)) finite += static_cast<double>(b) * b;
  return std::sqrt(finite);
}

float rounded_up_to_float(double x) { return std::nextafter(static_cast<float>(x), infinity); }

// By how much numbers of a row may differ: errors[n] * norm + norms[n] * error + constant.
struct RowBound {
  float norm, error, constant;

  float of_column(float norm_of_column, float error_of_column) const {
    return norm * error_of_column + error * norm_of_column;
  }
};

// A row as the product of int8 takes it.
struct Int8Row {
  int8_t* numbers;
  float scale = 0;

  Int8Row(const float* x, int64_t K, Scratch& scratch) {
    const int64_t padded = rounded_up(K, 32);
    numbers = reinterpret_cast<int8_t*>(scratch.floats(padded / 4));
    int32_t offset = 0;
    float sum = 0;
    kernel::kernels().quantized.quantize(x, K, padded, static_cast<int>(padded), 0, numbers, &scale, &offset, &sum,
                                         1);
  }

  // |x - x'|
  double error(const float* x, int64_t K) const {
    double squares[4] = {};
    int64_t k = 0;
    const auto difference = [&](int64_t i) { return x[i] - static_cast<double>(scale) * numbers[i]; };
    for (; k + 4 <= K; k += 4)
      for (int64_t i = 0; i < 4; ++i) squares[i] += difference(k + i) * difference(k + i);
    for (; k < K; ++k) squares[0] += difference(k) * difference(k);
    return std::sqrt(squares[0] + squares[1] + squares[2] + squares[3]);
  }
};

RowBound bound_of(const float* x, int64_t K, bool rounds, double norm_of_bias) {
  Scratch scratch;
  const double norm = std::sqrt(kernel::kernels().rows.sum_of_squares(x, K)),
               quantized = Int8Row(x, K, scratch).error(x, K);
  // Chains of K additions, in the product and above; and some more roundings, here and in the product of int8.
  const double rounding = static_cast<double>(2 * K + 32) * float_error + (rounds ? bf16_error : 0);
  return {.norm = rounded_up_to_float(norm),
          .error = rounded_up_to_float(quantized + rounding * norm),
          .constant = rounded_up_to_float(8 * float_error * norm_of_bias + 1e-30)};
}

// The columns of a row that may be among its largest `count`, of those that came so far.
class Candidates {
 public:
  explicit Candidates(int64_t count) : count_(static_cast<size_t>(count)) {}

  float threshold() const { return std::nextafter(lowest(), -infinity); }  // larger ones may be
  void add(int32_t column, float upper, float lower) {
    if (std::isnan(upper)) is_finite_ = false;
    columns_.push_back({column, upper});
    if (!(lower > lowest())) return;
    lowers_.insert(std::upper_bound(lowers_.begin(), lowers_.end(), lower, std::greater<>()), lower);
    if (lowers_.size() > count_) lowers_.pop_back();
  }
  // Of the columns after these.
  void join(const Candidates& other) {
    is_finite_ = is_finite_ && other.is_finite_;
    columns_.insert(columns_.end(), other.columns_.begin(), other.columns_.end());
    lowers_.insert(lowers_.end(), other.lowers_.begin(), other.lowers_.end());
    std::sort(lowers_.begin(), lowers_.end(), std::greater<>());
    lowers_.resize(std::min(lowers_.size(), count_));
  }
  std::vector<int32_t> columns() const {
    std::vector<int32_t> out;
    for (const Column& column : columns_)
      if (column.upper >= lowest()) out.push_back(column.index);
    return out;
  }
  bool is_finite() const { return is_finite_; }

 private:
  struct Column {
    int32_t index;
    float upper;
  };
  float lowest() const { return lowers_.size() < count_ ? -infinity : lowers_.back(); }

  size_t count_;
  bool is_finite_ = true;
  std::vector<Column> columns_;
  std::vector<float> lowers_;  // the largest lower bounds, descending
};

}  // namespace

bool MaximumInnerProduct::is_faster(const kernel::PackedMatrix& w, int64_t rows) {
  constexpr int64_t min_columns = 4096, min_numbers = 1 << 20, numbers_beyond_caches = 1 << 22;
  const int64_t numbers = w.columns() * w.rows();
  return !is_quantized(w.format()) && w.columns() >= min_columns && numbers >= min_numbers &&
         rows <= (numbers >= numbers_beyond_caches ? 16 : 2);
}

MaximumInnerProduct::MaximumInnerProduct(const kernel::PackedMatrix& w)
    : rounds_rows_(w.arithmetic() == WeightFormat::bf16),
      norms_(static_cast<size_t>(w.columns())),
      errors_(static_cast<size_t>(w.columns())) {
  const int64_t K = w.rows();
  std::atomic<bool> all_finite{true};
  int8_ = kernel::pack_int8(w.columns(), K, [&](int64_t n, int8_t* to) {
    Scratch scratch;
    float* const numbers = scratch.floats(K);
    w.copy_column(n, numbers);
    const Int8Row copy(numbers, K, scratch);
    if (!std::isfinite(copy.scale)) all_finite = false;
    std::copy_n(copy.numbers, K, to);
    const double error = copy.error(numbers, K),
                 norm = std::sqrt(kernel::kernels().rows.sum_of_squares(numbers, K));
    errors_[static_cast<size_t>(n)] = rounded_up_to_float(error);
    norms_[static_cast<size_t>(n)] = rounded_up_to_float(norm + error);  // of both w and w'
    return copy.scale;
  });
  is_finite_ = all_finite;
}

std::optional<std::vector<std::vector<int32_t>>> MaximumInnerProduct::candidates(
    const Tensor& x, const Tensor& bias, std::span<const int64_t> counts) const {
  const int64_t K = int8_.rows(), N = int8_.columns();
  require(x.rank() == 2 && x.contiguous() && x.dim(1) == K && x.dim(0) == std::ssize(counts), "MaximumInnerProduct",
          "x must be contiguous (R,K) with {} rows and K = {}, got {}", counts.size(), K, x.shape());
  require(!bias.defined() || (bias.shape() == Shape{N} && bias.contiguous()), "MaximumInnerProduct",
          "the bias must be contiguous (N) with N = {}, got {}", N, bias.defined() ? bias.shape() : Shape{});
  if (!is_finite_) return {};
  const OpScope scope("maximum inner product", ProductWork(x.dim(0), {N, K}, int8_));
  const int64_t R = x.dim(0), parts = threads();
  const kernel::RowKernels& kernels = kernel::kernels().rows;
  const double of_bias = norm_of_bias(bias);
  std::vector<RowBound> bounds;
  std::vector<Candidates> found;  // (R, parts)
  for (int64_t r = 0; r < R; ++r) {
    bounds.push_back(bound_of(x.data<float>() + r * K, K, rounds_rows_, of_bias));
    found.insert(found.end(), static_cast<size_t>(parts), Candidates(counts[static_cast<size_t>(r)]));
  }
  const auto read = [&](const kernel::ProductBlock& block) {
    const float* const norms = norms_.data() + block.first_column;
    const float* const errors = errors_.data() + block.first_column;
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t r = block.first_row + i;
      const RowBound& bound = bounds[static_cast<size_t>(r)];
      Candidates& of_row = found[static_cast<size_t>(r * parts + block.part)];
      float* const upper = block.c + i * block.c_row_stride;
      kernels.add_scaled(errors, bound.norm, block.columns, upper);
      kernels.add_scaled(norms, bound.error, block.columns, upper);
      for_each_larger(
          {upper, static_cast<size_t>(block.columns)}, [&] { return of_row.threshold(); },
          [&](int64_t n) {
            const float lower = upper[n] - 2 * (bound.of_column(norms[n], errors[n]) + bound.constant);
            of_row.add(static_cast<int32_t>(block.first_column + n), upper[n], lower);
          });
    }
  };
  kernel::matmul_in_blocks({x.data<float>(), R, K}, int8_, {.bias = bias.defined() ? bias.data<float>() : nullptr},
                           static_cast<int>(parts), read);
  std::vector<std::vector<int32_t>> columns;
  int64_t count = 0;
  for (int64_t r = 0; r < R; ++r) {
    Candidates& of_row = found[static_cast<size_t>(r * parts)];
    for (int64_t part = 1; part < parts; ++part) of_row.join(found[static_cast<size_t>(r * parts + part)]);
    if (!of_row.is_finite()) return {};
    count += std::ssize(columns.emplace_back(of_row.columns()));
    if (count > N / max_share) return {};
  }
  return columns;
}

}  // namespace qkv
