#include "python/src/array.h"

#include <cstring>
#include <limits>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <vector>

#include "qkv/base/error.h"

namespace qkv::python {
namespace {

using AnyArray = nb::ndarray<nb::ro>;

// The name of a type as NumPy has it.
std::string type_name(const nb::dlpack::dtype& type) {
  using Code = nb::dlpack::dtype_code;
  const char* kind = "?";
  switch (static_cast<Code>(type.code)) {
    case Code::Int: kind = "int"; break;
    case Code::UInt: kind = "uint"; break;
    case Code::Float: kind = "float"; break;
    case Code::Bfloat: kind = "bfloat"; break;
    case Code::Complex: kind = "complex"; break;
    case Code::Bool: return "bool";
    default: break;
  }
  return fmt::format("{}{}", kind, type.bits);
}

bool is(const nb::dlpack::dtype& type, nb::dlpack::dtype_code code, int bits) {
  return type.code == static_cast<uint8_t>(code) && type.bits == bits && type.lanes == 1;
}

template <class... Args>
[[noreturn]] void type_error(fmt::format_string<Args...> format, Args&&... args) {
  throw nb::type_error(fmt::format(format, std::forward<Args>(args)...).c_str());
}

// Keeps a Python object alive from any thread.
std::shared_ptr<void> owner_of(nb::object object) {
  return {object.release().ptr(), [](void* p) {
            const nb::gil_scoped_acquire lock;
            Py_DECREF(static_cast<PyObject*>(p));
          }};
}

Tensor view_of(const void* data, DType dtype, const Shape& shape, const Shape& strides, std::shared_ptr<void> owner,
               const char* name) {
  int64_t last = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (strides[i] < 0)
      type_error("{}: axis {} has a negative stride, {}; copy the array first", name, i, strides[i]);
    last += std::max<int64_t>(shape[i] - 1, 0) * strides[i];
  }
  const int64_t bytes = shape.numel() == 0 ? 0 : (last + 1) * size_of(dtype);
  alignas(64) static constexpr char nowhere[64] = {};
  if (!data && bytes == 0) data = nowhere;  // empty tensors of PyTorch have no address
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size_of(dtype)) != 0) {  // kernels cannot read it
    const Tensor copy = Tensor::empty({bytes}, DType::u8);
    std::memcpy(copy.storage()->data(), data, static_cast<size_t>(bytes));
    return Tensor::view(copy.storage(), dtype, shape, strides);
  }
  auto storage = Storage::borrow(const_cast<void*>(data), bytes, std::move(owner), /*writable=*/false);
  return Tensor::view(std::move(storage), dtype, shape, strides);
}

Shape shape_of(nb::tuple numbers, const char* name) {
  if (numbers.size() > Shape::max_rank) type_error("{}: {} axes are too many", name, numbers.size());
  Shape shape;
  for (nb::handle n : numbers) shape.push_back(nb::cast<int64_t>(n));
  return shape;
}

// (address, type, shape, strides, owner)
Tensor from_tuple(nb::tuple t, const char* name) {
  const auto dtype = static_cast<DType>(nb::cast<int>(t[1]));
  return view_of(reinterpret_cast<const void*>(nb::cast<uintptr_t>(t[0])), dtype,
                 shape_of(nb::cast<nb::tuple>(t[2]), name), shape_of(nb::cast<nb::tuple>(t[3]), name),
                 owner_of(nb::borrow(t[4])), name);
}

// An array of float32 with the buffer protocol, as NumPy's: ten times faster than DLPack. Undefined for other types,
// for which array_from() makes the error.
Tensor from_buffer(nb::handle array, const char* name) {
  struct Buffer {
    Py_buffer view = {};
    ~Buffer() {
      const nb::gil_scoped_acquire lock;
      PyBuffer_Release(&view);
    }
  };
  auto buffer = std::make_shared<Buffer>();
  Py_buffer& view = buffer->view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return {};
  }
  const bool is_float = view.format && view.format[0] == 'f' && view.format[1] == 0 && view.itemsize == 4;
  if (!is_float || view.ndim > Shape::max_rank) return {};
  Shape shape, strides;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] % 4 != 0) return {};
    shape.push_back(view.shape[i]);
    strides.push_back(view.strides[i] / 4);
  }
  return view_of(view.buf, DType::f32, shape, strides, std::move(buffer), name);
}

AnyArray array_from(nb::handle array, const char* name) {
  AnyArray x;
  if (!nb::try_cast<AnyArray>(array, x)) {
    if (nb::hasattr(array, "dtype")) {
      const nb::object dtype = array.attr("dtype");
      type_error("{}: expected numbers in native byte order, at multiples of their size; got an array of {}", name,
                 nb::cast<std::string>(nb::str(dtype)));
    }
    type_error("{}: expected an array (NumPy, PyTorch, or anything with DLPack), got {}", name,
               nb::cast<std::string>(nb::str(array.type())));
  }
  if (x.device_type() != nb::device::cpu::value)
    type_error("{}: the array is not in CPU memory; move it to the CPU first", name);
  if (x.ndim() > Shape::max_rank) type_error("{}: {} axes are too many", name, x.ndim());
  return x;
}

Tensor view_of(const AnyArray& x, DType dtype, const char* name) {
  Shape shape, strides;
  for (size_t i = 0; i < x.ndim(); ++i) {
    shape.push_back(static_cast<int64_t>(x.shape(i)));
    strides.push_back(x.stride(i));
  }
  auto keep = std::make_shared<AnyArray>(x);  // counts its references without the interpreter
  return view_of(x.data(), dtype, shape, strides, std::move(keep), name);
}

template <class From>
Tensor narrowed(const Tensor& wide, const AnyArray& x, const char* name) {
  Tensor out = Tensor::empty(wide.shape(), DType::i32);
  const auto to = out.span<int32_t>();
  const auto* from = static_cast<const char*>(x.data());  // not always at a multiple of its size
  Shape index = wide.shape();
  std::fill_n(&index[0], index.rank(), 0);
  for (int32_t& value : to) {
    int64_t at = 0;
    for (int i = 0; i < index.rank(); ++i) at += index[i] * wide.stride(i);
    From number;
    std::memcpy(&number, from + at * static_cast<int64_t>(sizeof number), sizeof number);
    if (std::cmp_less(number, std::numeric_limits<int32_t>::min()) ||
        std::cmp_greater(number, std::numeric_limits<int32_t>::max()))
      throw nb::value_error(fmt::format("{}: {} is out of range", name, number).c_str());
    value = static_cast<int32_t>(number);
    for (int i = index.rank(); i-- > 0 && ++index[i] == wide.shape()[i];) index[i] = 0;
  }
  return out;
}

nb::capsule owner_of(const Tensor& tensor) {
  return {new Tensor(tensor), [](void* p) noexcept { delete static_cast<Tensor*>(p); }};
}

}  // namespace

Tensor tensor_of(nb::handle array, const char* name) {
  if (nb::isinstance<nb::tuple>(array)) {
    Tensor x = from_tuple(nb::borrow<nb::tuple>(array), name);
    if (x.dtype() != DType::f32 && x.dtype() != DType::bf16)
      type_error("{}: expected float32, bfloat16, float16 or float64, got integers", name);
    return x;
  }
  if (PyObject_CheckBuffer(array.ptr()))
    if (Tensor x = from_buffer(array, name); x.defined()) return x;
  const AnyArray x = array_from(array, name);
  if (is(x.dtype(), nb::dlpack::dtype_code::Float, 32)) return view_of(x, DType::f32, name);
  if (is(x.dtype(), nb::dlpack::dtype_code::Bfloat, 16)) return view_of(x, DType::bf16, name);
  type_error("{}: expected float32, bfloat16, float16 or float64, got {}", name, type_name(x.dtype()));
}

Tensor integers_of(nb::handle array, const char* name) {
  if (nb::isinstance<nb::tuple>(array)) return from_tuple(nb::borrow<nb::tuple>(array), name);
  using Code = nb::dlpack::dtype_code;
  const AnyArray x = array_from(array, name);
  const nb::dlpack::dtype type = x.dtype();
  if (is(type, Code::Int, 32)) return view_of(x, DType::i32, name);
  if (is(type, Code::Bool, 8) || is(type, Code::UInt, 8)) return view_of(x, DType::u8, name);
  // Only the shape and the strides of this view are read: the numbers are wider or narrower.
  if (is(type, Code::Int, 64)) return narrowed<int64_t>(view_of(x, DType::u8, name), x, name);
  if (is(type, Code::Int, 16)) return narrowed<int16_t>(view_of(x, DType::u8, name), x, name);
  type_error("{}: expected integers or bool, got {}", name, type_name(type));
}

nb::any array_of(const Tensor& tensor, bool numpy) {
  size_t shape[Shape::max_rank];
  int64_t strides[Shape::max_rank];
  for (int i = 0; i < tensor.rank(); ++i) {
    shape[i] = static_cast<size_t>(tensor.dim(i));
    strides[i] = tensor.stride(i);
  }
  nb::dlpack::dtype type{static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 32, 1};
  if (tensor.dtype() == DType::u8) type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1};
  if (tensor.dtype() == DType::bf16) type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1};
  void* data = tensor.storage()->data() + tensor.offset() * size_of(tensor.dtype());
  const auto rank = static_cast<size_t>(tensor.rank());
  const auto cast = [&]<class Kind>(Kind) {
    return nb::borrow<nb::any>(nb::cast(nb::ndarray<Kind>(data, rank, shape, owner_of(tensor), strides, type)));
  };
  return numpy ? cast(nb::numpy{}) : cast(nb::array_api{});
}

}  // namespace qkv::python
