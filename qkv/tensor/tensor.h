// A tensor: shared storage with a shape and strides (in elements). Copying a Tensor copies the view, not the
// numbers; clone() copies the numbers.
//
//     Tensor x = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
//     Tensor t = x.transpose(0, 1);            // a view, no copy
//     float  s = t.at<float>({2, 0});          // 3
//
// Element access by data<T>() checks the type and, for the non-const form, that the memory may be written. Errors:
// an axis, index, range or shape that does not fit, another type, read-only memory; reshape() and span() of a
// tensor that is not contiguous.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "qkv/tensor/dtype.h"
#include "qkv/tensor/shape.h"
#include "qkv/tensor/storage.h"

namespace qkv {

class Tensor {
 public:
  Tensor() = default;  // undefined: defined() is false

  static Tensor empty(const Shape& shape, DType dtype = DType::f32);  // contents undefined
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32);
  static Tensor full(const Shape& shape, float value);
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  static Tensor from(std::initializer_list<float> values, const Shape& shape);
  static Tensor from(const std::vector<float>& values, const Shape& shape);
  static Tensor from(const std::vector<int32_t>& values, const Shape& shape);
  // A view of storage.
  static Tensor view(std::shared_ptr<Storage> storage, DType dtype, const Shape& shape, const Shape& strides,
                     int64_t offset = 0);

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_.dim(axis); }  // negative axes count from the end
  int64_t stride(int axis) const { return strides_.dim(axis); }
  int64_t numel() const { return shape_.numel(); }
  bool contiguous() const;

  template <class T>
  T* data() {
    check_access(dtype_of<T>, true);
    return reinterpret_cast<T*>(storage_->data()) + offset_;
  }
  template <class T>
  const T* data() const {
    check_access(dtype_of<T>, false);
    return reinterpret_cast<const T*>(storage_->data()) + offset_;
  }
  template <class T>
  std::span<T> span() {  // of a contiguous tensor
    check_contiguous();
    return {data<T>(), static_cast<size_t>(numel())};
  }
  template <class T>
  std::span<const T> span() const {
    check_contiguous();
    return {data<T>(), static_cast<size_t>(numel())};
  }
  template <class T>
  T at(std::initializer_list<int64_t> index) const {
    return data<T>()[position(std::span<const int64_t>(index.begin(), index.size()))];
  }

  // Views.
  Tensor reshape(const Shape& shape) const& { return Tensor(*this).reshape(shape); }  // of a contiguous tensor
  Tensor reshape(const Shape& shape) &&;
  Tensor transpose(int a, int b) const& { return Tensor(*this).transpose(a, b); }
  Tensor transpose(int a, int b) &&;
  Tensor slice(int axis, int64_t begin, int64_t end) const;
  Tensor select(int axis, int64_t index) const;  // drops the axis
  Tensor expand(const Shape& shape) const;       // axes of length 1 are repeated with stride 0

  Tensor contiguous_copy() const&;  // this tensor if it is contiguous, else a copy
  Tensor contiguous_copy() &&;
  const Tensor& contiguous_in(Tensor& copy) const;  // the same; the copy is made in `copy`
  Tensor clone() const;                             // always a contiguous copy
  Tensor to(DType dtype) const;                     // f32 <-> bf16, i32, u8 -> f32
  void copy_from(const Tensor& other);              // same shape and type
  void fill(float value);

  const std::shared_ptr<Storage>& storage() const { return storage_; }
  int64_t offset() const { return offset_; }

 private:
  void check_access(DType wanted, bool write) const {  // on every access: the message is made only where it fails
    if (!storage_ || wanted != dtype_ || (write && !storage_->writable())) [[unlikely]]
      refuse_access(wanted);
  }
  [[noreturn]] void refuse_access(DType wanted) const;
  void check_contiguous() const;
  int64_t position(std::span<const int64_t> index) const;

  std::shared_ptr<Storage> storage_;
  DType dtype_ = DType::f32;
  Shape shape_, strides_;
  int64_t offset_ = 0;
};

}  // namespace qkv
