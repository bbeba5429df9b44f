#include "qkv/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

Shape contiguous_strides(const Shape& shape) {
  Shape strides = shape;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

int checked_axis(const Shape& shape, int axis, const char* op) {
  const int a = axis < 0 ? axis + shape.rank() : axis;
  require(a >= 0 && a < shape.rank(), op, "axis {} is out of range for shape {}", axis, shape);
  return a;
}

// Calls piece(offset into a, offset into b) for every index into the first `axes` axes of two strided views.
template <class Piece>
void for_each_piece(const Shape& shape, int axes, const Shape& a, const Shape& b, Piece piece) {
  int64_t index[Shape::max_rank] = {};
  for (;;) {
    int64_t at_a = 0, at_b = 0;
    for (int i = 0; i < axes; ++i) at_a += index[i] * a[i], at_b += index[i] * b[i];
    piece(at_a, at_b);
    int i = axes - 1;
    for (; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
    if (i < 0) return;
  }
}

// In pieces: the last axes that are contiguous in both views, or the last axis.
template <class T>
void copy_strided(T* out, const Shape& out_strides, const T* in, const Shape& in_strides, const Shape& shape) {
  if (shape.numel() == 0) return;
  int axes = shape.rank();
  int64_t n = 1;
  while (axes > 0 && (shape[axes - 1] == 1 || (out_strides[axes - 1] == n && in_strides[axes - 1] == n)))
    n *= shape[--axes];
  if (n > 1 || axes == 0)
    return for_each_piece(shape, axes, out_strides, in_strides, [&](int64_t at_out, int64_t at_in) {
      std::memcpy(out + at_out, in + at_in, static_cast<size_t>(n) * sizeof(T));
    });
  const int last = axes - 1;  // those after it have length 1
  const int64_t length = shape[last], so = out_strides[last], si = in_strides[last];
  for_each_piece(shape, last, out_strides, in_strides, [&](int64_t at_out, int64_t at_in) {
    for (int64_t i = 0; i < length; ++i) out[at_out + i * so] = in[at_in + i * si];
  });
}

template <class To, class From>
void convert(Tensor& out, const Tensor& in) {
  const std::span<To> to = out.span<To>();
  const std::span<const From> from = in.span<From>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = To(static_cast<float>(from[i]));
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  Tensor t;
  t.storage_ = Storage::allocate(shape.numel() * size_of(dtype));
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.strides_ = contiguous_strides(shape);
  return t;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  Tensor t = empty(shape, dtype);
  std::memset(t.storage_->data(), 0, static_cast<size_t>(t.storage_->bytes()));
  return t;
}

Tensor Tensor::full(const Shape& shape, float value) {
  Tensor t = empty(shape);
  t.fill(value);
  return t;
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  require(static_cast<int64_t>(values.size()) == shape.numel(), "Tensor::from", "{} values cannot fill shape {}",
          values.size(), shape);
  Tensor t = empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}
template Tensor Tensor::from(std::span<const float>, const Shape&);
template Tensor Tensor::from(std::span<const bfloat16>, const Shape&);
template Tensor Tensor::from(std::span<const int32_t>, const Shape&);
template Tensor Tensor::from(std::span<const uint8_t>, const Shape&);

Tensor Tensor::from(std::initializer_list<float> values, const Shape& shape) {
  return from(std::span<const float>(values.begin(), values.size()), shape);
}
Tensor Tensor::from(const std::vector<float>& values, const Shape& shape) {
  return from(std::span<const float>(values), shape);
}
Tensor Tensor::from(const std::vector<int32_t>& values, const Shape& shape) {
  return from(std::span<const int32_t>(values), shape);
}

Tensor Tensor::view(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Shape& strides,
                    int64_t offset) {
  require(strides.rank() == shape.rank(), "Tensor::view",
          "expected a stride for each axis, got shape {} and strides {}", shape, strides);
  int64_t last = offset;
  for (int i = 0; i < shape.rank(); ++i) last += std::max<int64_t>(shape[i] - 1, 0) * strides[i];
  require(std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride >= 0; }), "Tensor::view",
          "strides must not be negative, got {}", strides);
  require(offset >= 0 && (shape.numel() == 0 || (last + 1) * size_of(dtype) <= storage->bytes()), "Tensor::view",
          "shape {} with strides {} at offset {} does not fit in {} bytes", shape, strides, offset,
          storage->bytes());
  Tensor t;
  t.storage_ = std::move(storage);
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.strides_ = strides;
  t.offset_ = offset;
  return t;
}

bool Tensor::contiguous() const {
  int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != step) return false;
    step *= shape_[i];
  }
  return true;
}

Tensor Tensor::reshape(const Shape& shape) && {
  require(shape.numel() == numel(), "reshape", "shape {} cannot become {}", shape_, shape);
  require(contiguous(), "reshape", "the tensor must be contiguous: shape {}, strides {}", shape_, strides_);
  shape_ = shape;
  strides_ = contiguous_strides(shape);
  return std::move(*this);
}

Tensor Tensor::transpose(int a, int b) && {
  a = checked_axis(shape_, a, "transpose");
  b = checked_axis(shape_, b, "transpose");
  std::swap(shape_[a], shape_[b]);
  std::swap(strides_[a], strides_[b]);
  return std::move(*this);
}

Tensor Tensor::slice(int axis, int64_t begin, int64_t end) const {
  const int a = checked_axis(shape_, axis, "slice");
  require(0 <= begin && begin <= end && end <= shape_[a], "slice", "range [{}, {}) is outside axis {} of shape {}",
          begin, end, axis, shape_);
  Tensor t = *this;
  t.shape_[a] = end - begin;
  t.offset_ += begin * strides_[a];
  return t;
}

Tensor Tensor::select(int axis, int64_t index) const {
  const int a = checked_axis(shape_, axis, "select");
  require(0 <= index && index < shape_[a], "select", "index {} is outside axis {} of shape {}", index, axis,
          shape_);
  Tensor t = *this;
  t.offset_ += index * strides_[a];
  t.shape_ = Shape{};
  t.strides_ = Shape{};
  for (int i = 0; i < rank(); ++i) {
    if (i == a) continue;
    t.shape_.push_back(shape_[i]);
    t.strides_.push_back(strides_[i]);
  }
  return t;
}

Tensor Tensor::expand(const Shape& shape) const {
  require(shape.rank() == rank(), "expand", "shape {} cannot become {}", shape_, shape);
  Tensor t = *this;
  for (int i = 0; i < rank(); ++i) {
    if (shape[i] == shape_[i]) continue;
    require(shape_[i] == 1, "expand", "shape {} cannot become {}: axis {} is not 1", shape_, shape, i);
    t.strides_[i] = 0;
  }
  t.shape_ = shape;
  return t;
}

Tensor Tensor::contiguous_copy() const& { return contiguous() ? *this : clone(); }
Tensor Tensor::contiguous_copy() && { return contiguous() ? std::move(*this) : clone(); }

const Tensor& Tensor::contiguous_in(Tensor& copy) const {
  if (contiguous()) return *this;
  copy = clone();
  return copy;
}

Tensor Tensor::clone() const {
  Tensor t = empty(shape_, dtype_);
  t.copy_from(*this);
  return t;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  const Tensor in = contiguous_copy();
  Tensor out = empty(shape_, dtype);
  if (dtype == DType::f32 && dtype_ == DType::bf16) {
    convert<float, bfloat16>(out, in);
  } else if (dtype == DType::bf16 && dtype_ == DType::f32) {
    convert<bfloat16, float>(out, in);
  } else if (dtype == DType::f32 && dtype_ == DType::i32) {
    convert<float, int32_t>(out, in);
  } else if (dtype == DType::f32 && dtype_ == DType::u8) {
    convert<float, uint8_t>(out, in);
  } else {
    fail("Tensor::to", "no conversion from {} to {}", name_of(dtype_), name_of(dtype));
  }
  return out;
}

void Tensor::copy_from(const Tensor& other) {
  require(shape_ == other.shape_ && dtype_ == other.dtype_, "copy_from",
          "shapes and types must agree: {} {} and {} {}", name_of(dtype_), shape_, name_of(other.dtype_),
          other.shape_);
  switch (dtype_) {
    case DType::f32: return copy_strided(data<float>(), strides_, other.data<float>(), other.strides_, shape_);
    case DType::i32: return copy_strided(data<int32_t>(), strides_, other.data<int32_t>(), other.strides_, shape_);
    case DType::bf16:
      return copy_strided(data<bfloat16>(), strides_, other.data<bfloat16>(), other.strides_, shape_);
    case DType::u8: return copy_strided(data<uint8_t>(), strides_, other.data<uint8_t>(), other.strides_, shape_);
  }
}

void Tensor::fill(float value) {
  if (contiguous()) {
    std::fill_n(data<float>(), numel(), value);
  } else {
    copy_from(Tensor::full({1}, value)
                  .reshape(Shape(std::vector<int64_t>(static_cast<size_t>(rank()), 1)))
                  .expand(shape_));
  }
}

void Tensor::refuse_access(DType wanted) const {
  require(defined(), "Tensor::data", "the tensor is undefined");
  require(wanted == dtype_, "Tensor::data", "the tensor holds {}, not {}", name_of(dtype_), name_of(wanted));
  fail("Tensor::data", "this memory is read-only");
}

void Tensor::check_contiguous() const {
  require(contiguous(), "Tensor::span", "the tensor must be contiguous: shape {}, strides {}", shape_, strides_);
}

int64_t Tensor::position(std::span<const int64_t> index) const {
  require(static_cast<int>(index.size()) == rank(), "Tensor::at", "got {} indices for shape {}", index.size(),
          shape_);
  int64_t at = 0;
  for (int i = 0; i < rank(); ++i) {
    require(index[i] >= 0 && index[i] < shape_[i], "Tensor::at", "index {} is outside axis {} of shape {}",
            index[i], i, shape_);
    at += index[i] * strides_[i];
  }
  return at;
}

}  // namespace qkv
