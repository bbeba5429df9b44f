#include "qkv/kernel/onednn.h"

#include <algorithm>
#include <cstdlib>

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"

namespace qkv::kernel::onednn {
namespace {

// oneDNN asks OpenMP how many threads it may use, in calls that are made outside a parallel region too.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Holds oneDNN to the instruction set that is pinned; it listens only before its first product.
bool pin() {
#if defined(__x86_64__)
  if (const char* pinned = std::getenv("QKV_ISA"); pinned != nullptr && *pinned != 0) {
    const std::string_view isa = kernels().isa;
    if (isa == "generic") dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
    if (isa == "avx2") dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
  }
#endif
  return true;
}

// A transposed factor is the row-major one with 'T'; the leading stride of a single row or column is free, but must
// look right.
struct Factor {
  char transposed;
  int64_t stride;
  explicit Factor(const Matrix& m) {
    const bool plain = m.column_stride == 1 && (m.row_stride >= m.columns || m.rows == 1);
    transposed = plain ? 'N' : 'T';
    stride = plain ? std::max(m.row_stride, m.columns) : std::max(m.column_stride, m.rows);
  }
};

}  // namespace

void multiply(Matrix a, Matrix b, float* c, int64_t c_row_stride, bool accumulate) {
  [[maybe_unused]] static const bool pinned = pin();
  const OneThread one;
  const Factor fa(a), fb(b);
  const dnnl_status_t status =
      dnnl_sgemm(fa.transposed, fb.transposed, a.rows, b.columns, a.columns, 1.0f, a.data, fa.stride, b.data,
                 fb.stride, accumulate ? 1.0f : 0.0f, c, std::max(c_row_stride, b.columns));
  require(status == dnnl_success, "matmul", "oneDNN refused a product of {} x {} by {} x {} (status {})", a.rows,
          a.columns, b.rows, b.columns, static_cast<int>(status));
}

}  // namespace qkv::kernel::onednn
