#include "qkv/op/packed_weight.h"

#include <mutex>
#include <utility>

#include "qkv/base/fork.h"

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
kernel::PackedMatrix packed(const Variable& w, Layout Packed::*layout, kernel::Matrix source) {
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
  const Layout made = {kernel::PackedMatrix(source), version};
  Layout replaced = made;  // freed after the lock is released
  const std::lock_guard lock(mutex);
  std::swap(kept(), replaced);
  return made.matrix;
}

}  // namespace

kernel::PackedMatrix packed_transposed(const Variable& w) {
  return packed(w, &Packed::transposed, matrix(w.value()).transposed());
}

kernel::PackedMatrix packed_plain(const Variable& w) { return packed(w, &Packed::plain, matrix(w.value())); }

}  // namespace qkv
