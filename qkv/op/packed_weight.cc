#include "qkv/op/packed_weight.h"

#include <mutex>

namespace qkv {
namespace {

struct Packed {
  std::mutex mutex;
  kernel::PackedMatrix transposed, plain;
  uint64_t transposed_version = 0, plain_version = 0;
};

// Two threads may be the first to use a weight: the slot itself is guarded too.
Packed& packed_of(const Variable& w) {
  static std::mutex slots;
  const std::lock_guard lock(slots);
  std::shared_ptr<void>& slot = w.derived();
  if (!slot) slot = std::make_shared<Packed>();
  return *static_cast<Packed*>(slot.get());
}

kernel::Matrix matrix(const Tensor& w) { return {w.data<float>(), w.dim(0), w.dim(1), w.stride(0), w.stride(1)}; }

}  // namespace

kernel::PackedMatrix packed_transposed(const Variable& w) {
  Packed& packed = packed_of(w);
  const std::lock_guard lock(packed.mutex);
  if (packed.transposed.rows() == 0 || packed.transposed_version != w.version()) {
    packed.transposed = kernel::PackedMatrix(matrix(w.value()).transposed());
    packed.transposed_version = w.version();
  }
  return packed.transposed;
}

kernel::PackedMatrix packed_plain(const Variable& w) {
  Packed& packed = packed_of(w);
  const std::lock_guard lock(packed.mutex);
  if (packed.plain.rows() == 0 || packed.plain_version != w.version()) {
    packed.plain = kernel::PackedMatrix(matrix(w.value()));
    packed.plain_version = w.version();
  }
  return packed.plain;
}

}  // namespace qkv
