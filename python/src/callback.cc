#include "python/src/callback.h"

#include "qkv/base/error.h"

namespace qkv::python {

Tensor tile_to_rows(const Tile& tile, const float* s) {
  Tensor rows = Tensor::empty({tile.queries, tile.keys});
  float* to = rows.data<float>();
  for (int64_t i = 0; i < tile.queries; ++i)
    for (int64_t j = 0; j < tile.keys; ++j) *to++ = s[j * tile.width + i];
  return rows;
}

void rows_to_tile(const Tile& tile, const Tensor& rows, float* s) {
  const float* from = rows.data<float>();
  for (int64_t i = 0; i < tile.queries; ++i)
    for (int64_t j = 0; j < tile.keys; ++j) s[j * tile.width + i] = *from++;
}

Tensor floats_of(nb::handle array, const Shape& shape, const char* name) {
  const Tensor x = tensor_of(array, name);
  require(x.dtype() == DType::f32 && x.shape() == shape, name, "expected float32 of shape {}, got {} {}", shape,
          name_of(x.dtype()), x.shape());
  return x.contiguous_copy();
}

void add_gradients(nb::handle arrays, const std::vector<Variable>& parameters, const char* name, float* to) {
  size_t n = 0;
  for (const nb::handle array : arrays) {
    const Tensor grad = floats_of(array, parameters.at(n++).shape(), name);
    const float* from = grad.data<float>();
    for (int64_t i = 0; i < grad.numel(); ++i) *to++ += from[i];
  }
}

}  // namespace qkv::python
