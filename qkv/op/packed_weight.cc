#include "qkv/op/packed_weight.h"

#include <mutex>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/fork.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

// A packed weight, and the version of the weight that it was made from.
struct Layout {
  kernel::PackedMatrix matrix;
  uint64_t version = 0;
};
struct Packed {
  Layout transposed, plain;
};

kernel::Matrix matrix(const Tensor& w) { return {w.data<float>(), w.dim(0), w.dim(1), w.stride(0), w.stride(1)}; }

// Packing runs in parallel, without the lock: two threads that use a weight for the first time both pack it, and one
// copy is kept.
kernel::PackedMatrix packed(const Variable& w, Layout Packed::*layout) {
  static ForkSafeMutex mutex;
  const uint64_t version = w.version();
  const auto kept = [&]() -> Layout& {
    std::shared_ptr<void>& slot = w.derived();
    if (!slot) slot = std::make_shared<Packed>();
    return static_cast<Packed*>(slot.get())->*layout;
  };
  {
    const std::lock_guard lock(mutex);
    if (const Layout& found = kept(); found.matrix.rows() > 0 && found.version == version) return found.matrix;
  }
  require(!is_kept_packed(w), "backward", "the weight {} is packed for inference, which has no gradients",
          w.shape());
  const kernel::Matrix source = layout == &Packed::transposed ? matrix(w.value()).transposed() : matrix(w.value());
  const Layout made = {kernel::PackedMatrix(source), version};
  Layout replaced = made;  // freed after the lock is released
  const std::lock_guard lock(mutex);
  std::swap(kept(), replaced);
  return made.matrix;
}

}  // namespace

kernel::PackedMatrix packed_transposed(const Variable& w) { return packed(w, &Packed::transposed); }

kernel::PackedMatrix packed_plain(const Variable& w) { return packed(w, &Packed::plain); }

void keep_packed(Variable& w) {
  if (is_kept_packed(w)) return;
  packed_transposed(w);
  w.drop_value();
}

bool is_kept_packed(const Variable& w) { return !w.value().defined(); }

Tensor unpacked(const Variable& w) {
  if (!is_kept_packed(w)) return w.value();
  const kernel::PackedMatrix columns = packed_transposed(w);
  Tensor value = Tensor::empty(w.shape());
  const int64_t K = w.dim(1);
  for_each_row(w.dim(0), K, [&](int64_t n) { columns.copy_column(n, value.data<float>() + n * K); });
  return value;
}

}  // namespace qkv
