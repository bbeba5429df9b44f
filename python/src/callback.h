// A Python function that the library calls from its threads. The caller of a callback holds the GIL:
//
//     const nb::gil_scoped_acquire lock;
//     const Tensor rows = floats_of((*callback)(array_of(tile, true), tile.batch), "score_mod");
//
// An exception of the function is thrown as nb::python_error, which parallel_for rethrows on the calling thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "python/src/array.h"
#include "qkv/attention/tile.h"
#include "qkv/autograd/variable.h"

namespace qkv::python {

class Callback {
 public:
  Callback() = default;
  // The last owner may let go of it on any thread.
  explicit Callback(nb::handle function) {
    if (function.is_none()) return;
    function_ = std::shared_ptr<PyObject>(nb::borrow(function).release().ptr(), [](PyObject* p) {
      const nb::gil_scoped_acquire lock;
      Py_DECREF(p);
    });
  }
  explicit operator bool() const { return function_ != nullptr; }

  template <class... Args>
  nb::object operator()(Args&&... args) const {
    return nb::handle(function_.get())(std::forward<Args>(args)...);
  }

 private:
  std::shared_ptr<PyObject> function_;
};

// The numbers of a tile (keys x width) as rows of queries, (queries, keys), and back.
Tensor tile_to_rows(const Tile& tile, const float* s);
void rows_to_tile(const Tile& tile, const Tensor& rows, float* s);

// The result of a callback: contiguous float32 of that shape.
Tensor floats_of(nb::handle array, const Shape& shape, const char* name);
// to += the arrays of a sequence, one after another, with the shapes of the parameters.
void add_gradients(nb::handle arrays, const std::vector<Variable>& parameters, const char* name, float* to);

}  // namespace qkv::python
