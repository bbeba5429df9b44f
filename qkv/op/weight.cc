#include "qkv/op/weight.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/fork.h"
#include "qkv/kernel/format/stored_format.h"
#include "qkv/kernel/quantized_matrix.h"
#include "qkv/op/maximum_inner_product.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

template <class Element>
kernel::MatrixOf<Element> matrix_at(const void* data, const Tensor& w) {
  return {static_cast<const Element*>(data), w.dim(0), w.dim(1), w.stride(0), w.stride(1)};
}

// W^T or W. Strided values are packed as they are.
kernel::PackedMatrix packed_form(const Tensor& w, bool transposed, Precision precision = Precision::f32) {
  const auto oriented = [&](auto matrix) { return transposed ? matrix.transposed() : matrix; };
  if (precision == Precision::bf16)
    return kernel::PackedMatrix::rounded(oriented(matrix_at<float>(w.data<float>(), w)));
  if (w.dtype() == DType::bf16) return kernel::PackedMatrix(oriented(matrix_at<uint16_t>(w.data<bfloat16>(), w)));
  return kernel::PackedMatrix(oriented(matrix_at<float>(w.data<float>(), w)));
}

kernel::PackedMatrix quantized_form(const Tensor& values, WeightFormat format) {
  const Tensor w = values.to(DType::f32).contiguous_copy();
  const int64_t N = w.dim(0), K = w.dim(1);
  const float* const x = w.data<float>();
  const WeightFormat fitting = format_for_rows(format, K);
  for_each_row(N, K, [&](int64_t n) {
    require(std::all_of(x + n * K, x + (n + 1) * K, [](float v) { return std::isfinite(v); }), "Weight::packed",
            "a weight must be finite to be held as {}, but row {} of {} is not", name_of(format), n,
            values.shape());
  });
  if (fitting == WeightFormat::int8) return kernel::pack_int8({x, N, K});
  const StoredFormat& stored = stored_format(fitting);
  const int64_t bytes = row_bytes(fitting, K);
  std::vector<uint8_t> rows(static_cast<size_t>(N * bytes));
  for_each_row(N, K, [&](int64_t n) {
    require(encode_row(stored, x + n * K, K, rows.data() + n * bytes), "Weight::packed",
            "row {} of a weight {} has numbers that are too large for {}", n, values.shape(), name_of(fitting));
  });
  return kernel::pack_blocks(stored, rows.data(), bytes, N, K);
}

// W^T in a format.
kernel::PackedMatrix form_in(WeightFormat format, const Tensor& w, Precision precision = Precision::f32) {
  if (is_quantized(format)) return quantized_form(w, format);
  if (precision == Precision::bf16) return packed_form(w.to(DType::f32), true, precision);
  return packed_form(w.to(element_type(format)), true);
}

// W of the columns of W^T, as f32.
Tensor values_of(const kernel::PackedMatrix& columns, const Shape& shape) {
  Tensor out = Tensor::empty(shape);
  const int64_t K = shape[1];
  for_each_row(shape[0], K, [&](int64_t n) { columns.copy_column(n, out.data<float>() + n * K); });
  return out;
}

}  // namespace

struct Weight::State {
  // What was made from a version of the master: a packed form, for one.
  template <class T>
  struct Kept {
    T value = {};
    uint64_t version = 0;
    bool exists = false;
  };
  using Form = Kept<kernel::PackedMatrix>;

  Variable master = {};
  Shape shape = {};
  TrainingNumbers numbers = {};  // the format is that of a weight that is trained
  Form forward = {}, recorded_forward = {}, backward = {};
  Kept<std::shared_ptr<const MaximumInnerProduct>> search = {};
  int64_t asked_to_search = 0;  // by any thread, hence std::atomic_ref

  template <class T, class Make>
  T cached(Kept<T>& kept, Make&& make, bool keeps = true);
};

// What is quantised for training is cached however many rows share it, since that is more work than packing.
constexpr int64_t max_cached_rows = 255;

// The form of the present values. Packing runs in parallel, without the lock: two threads that use a weight for the
// first time both pack it, and one copy is kept.
template <class T, class Make>
T Weight::State::cached(Kept<T>& kept, Make&& make, bool keeps) {
  static ForkSafeMutex mutex;
  const uint64_t version = master.version();
  {
    const std::lock_guard lock(mutex);
    if (kept.exists && kept.version == version) return kept.value;
  }
  const auto made = [&] {
    const OpScope scope("packing of weights", OpWork{.bytes = 8.0 * static_cast<double>(shape.numel())});
    return make();
  }();
  if (!keeps) return made;
  Kept<T> replaced = {made, version, true};  // freed after the lock is released
  const std::lock_guard lock(mutex);
  std::swap(kept, replaced);
  return made;
}

Weight::Weight(const Variable& master) {
  if (master.defined()) state_ = std::make_shared<State>(State{.master = master, .shape = master.shape()});
}

Weight Weight::packed(const Tensor& values, WeightFormat format, Precision precision) {
  require(values.rank() == 2, "Weight::packed", "a weight must be (N,K), got {}", values.shape());
  Weight w;
  w.state_ = std::make_shared<State>(State{.shape = values.shape(), .numbers = {.precision = precision}});
  w.state_->forward.value = form_in(format, values, precision);
  return w;
}

Weight Weight::packed(const StoredValues& values, Precision precision) {
  const WeightFormat format = values.format();
  if (!is_quantized(format)) return packed(values.tensor(), format, precision);
  const int64_t N = values.shape()[0], K = values.shape()[1];
  const Tensor contiguous = values.tensor().contiguous_copy();
  const auto* const rows = contiguous.data<uint8_t>();
  Weight w;
  w.state_ = std::make_shared<State>(State{.shape = values.shape()});
  w.state_->forward.value = format == WeightFormat::int8
                                ? kernel::pack_int8_rows(rows, row_bytes(format, K), N, K)
                                : kernel::pack_blocks(stored_format(format), rows, row_bytes(format, K), N, K);
  return w;
}

Weight Weight::in_place(const Tensor& values) {
  require(values.rank() == 2 && values.contiguous(), "Weight::in_place",
          "a weight must be (N,K) and contiguous, got {}", values.shape());
  Weight w;
  w.state_ = std::make_shared<State>(State{.shape = values.shape()});
  kernel::PackedMatrix& matrix = w.state_->forward.value;
  if (values.dtype() == DType::bf16)
    matrix = kernel::PackedMatrix::in_place(matrix_at<uint16_t>(values.data<bfloat16>(), values), values.storage());
  else
    matrix = kernel::PackedMatrix::in_place(matrix_at<float>(values.data<float>(), values), values.storage());
  return w;
}

const Shape& Weight::shape() const {
  require(defined(), "Weight", "the weight is undefined");
  return state_->shape;
}

const Variable& Weight::master() const {
  require(defined(), "Weight", "the weight is undefined");
  return state_->master;
}

WeightFormat Weight::format() const { return is_packed() ? state_->forward.value.format() : WeightFormat::f32; }

Precision Weight::precision() const { return state_->numbers.precision; }
WeightFormat Weight::forward_format() const { return is_packed() ? format() : state_->numbers.weights; }

void Weight::train_in(const TrainingNumbers& numbers) const {
  require(!is_packed(), "train_in", "the weight {} is packed for inference", shape());
  state_->numbers = numbers;
  state_->forward = state_->recorded_forward = state_->backward = {};
  state_->search = {};
}

kernel::PackedMatrix Weight::forward() const {
  if (is_packed()) return state_->forward.value;
  return state_->cached(state_->forward, [this] { return form_in(state_->numbers.weights, master().value()); });
}

kernel::PackedMatrix Weight::recorded_forward(int64_t rows) const {
  const auto& in = state_->numbers;
  if (is_packed() || in.weights != WeightFormat::f32) return forward();
  const bool keeps = rows <= max_cached_rows;
  if (in.precision == Precision::f32)
    return state_->cached(
        state_->forward, [&] { return packed_form(master().value(), true); }, keeps);
  return state_->cached(
      state_->recorded_forward, [&] { return packed_form(master().value(), true, in.precision); }, keeps);
}

kernel::PackedMatrix Weight::backward(int64_t rows) const {
  require(!is_packed(), "backward", "the weight {} is packed for inference, which has no gradients", shape());
  const auto& in = state_->numbers;
  const bool quantised = in.weights != WeightFormat::f32;
  return state_->cached(
      state_->backward,
      [&] {
        return packed_form(quantised ? values_of(forward(), shape()) : master().value(), false, in.precision);
      },
      quantised || rows <= max_cached_rows);
}

std::optional<kernel::Matrix> Weight::unpacked() const {
  const auto& in = state_->numbers;
  if (is_packed() || in.weights != WeightFormat::f32 || in.precision != Precision::f32) return {};
  return matrix_at<float>(master().value().data<float>(), master().value());
}

void Weight::gradient(kernel::Matrix dy, kernel::Matrix x, float* dw, bool accumulate) const {
  require(!is_packed(), "backward", "the weight {} is packed for inference, which has no gradients", shape());
  const int64_t K = dim(1);
  const bool rounds = state_->numbers.precision == Precision::bf16;
  OpWork work = OpWork::product(dy.columns, K, dy.rows, rounds ? WeightFormat::bf16 : WeightFormat::f32);
  work.weight = shape();
  const OpScope scope("weight gradient", work);
  if (rounds)
    kernel::matmul(dy.transposed(), kernel::PackedMatrix::rounded(x), dw, K, {.accumulate = accumulate});
  else
    kernel::matmul(dy.transposed(), x, dw, K, {.accumulate = accumulate});
}

std::shared_ptr<const MaximumInnerProduct> Weight::search(int64_t rows) const {
  constexpr int64_t often = 64;
  if (is_quantized(forward_format())) return nullptr;
  const kernel::PackedMatrix columns = forward();
  if (!MaximumInnerProduct::is_faster(columns, rows)) return nullptr;
  if (++std::atomic_ref(state_->asked_to_search) <= often) return nullptr;
  return state_->cached(state_->search, [&] { return std::make_shared<const MaximumInnerProduct>(columns); });
}

Tensor Weight::values() const {
  if (!is_packed()) return master().value();
  return values_of(state_->forward.value, shape()).to(element_type(format()));
}

Weight Weight::rows(std::span<const int32_t> indices) const {
  const kernel::PackedMatrix columns = forward();
  const WeightFormat held = columns.format();
  const int64_t K = dim(1), count = std::ssize(indices), bytes = row_bytes(held, K);
  require(count > 0, "Weight::rows", "there must be one row or more of the weight {}, got none", shape());
  for (const int32_t i : indices)
    require(i >= 0 && i < dim(0), "Weight::rows", "a row must be 0 to {}, got {}", dim(0) - 1, i);
  const auto copy_to = [&](void* to) {
    for_each_row(count, K, [&](int64_t n) {
      columns.copy_stored(indices[static_cast<size_t>(n)], static_cast<uint8_t*>(to) + n * bytes);
    });
  };
  if (is_quantized(held)) {
    Tensor stored = Tensor::empty({count, bytes}, DType::u8);
    copy_to(stored.data<uint8_t>());
    return packed(StoredValues(stored, held, K));
  }
  Tensor numbers = Tensor::empty({count, K}, element_type(held));
  if (held == WeightFormat::bf16)
    copy_to(numbers.data<bfloat16>());
  else
    copy_to(numbers.data<float>());
  return packed(numbers, held, precision());
}

StoredValues Weight::stored() const {
  if (!is_quantized(format())) return values();
  const int64_t K = dim(1), bytes = row_bytes(format(), K);
  Tensor rows = Tensor::empty({dim(0), bytes}, DType::u8);
  for_each_row(dim(0), K,
               [&](int64_t n) { state_->forward.value.copy_stored(n, rows.data<uint8_t>() + n * bytes); });
  return {rows, format(), K};
}

}  // namespace qkv
