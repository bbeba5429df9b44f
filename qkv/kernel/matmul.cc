#include "qkv/kernel/matmul.h"

#include <algorithm>
#include <vector>

#include "qkv/base/threads.h"

namespace qkv::kernel {

struct PackedMatrix::Data {
  std::vector<float> rows;  // b, row-major
};

PackedMatrix::PackedMatrix(Matrix b) : rows_(b.rows), columns_(b.columns) {
  auto data = std::make_shared<Data>();
  data->rows.resize(static_cast<size_t>(b.rows * b.columns));
  for (int64_t k = 0; k < b.rows; ++k)
    for (int64_t n = 0; n < b.columns; ++n)
      data->rows[static_cast<size_t>(k * b.columns + n)] = b.data[k * b.row_stride + n * b.column_stride];
  data_ = std::move(data);
}

int64_t PackedMatrix::bytes() const { return data_ ? static_cast<int64_t>(data_->rows.size() * sizeof(float)) : 0; }

void matmul(Matrix a, const PackedMatrix& b, float* c, int64_t c_row_stride, MatmulOptions options) {
  matmul(a, Matrix(b.data().rows.data(), b.rows(), b.columns()), c, c_row_stride, options);
}

void matmul(Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  parallel_for(a.rows, [&](int64_t m) {
    float* row = c + m * c_row_stride;
    if (!options.accumulate) std::fill_n(row, b.columns, 0.0f);
    for (int64_t k = 0; k < a.columns; ++k) {
      const float x = a.data[m * a.row_stride + k * a.column_stride];
      for (int64_t n = 0; n < b.columns; ++n) row[n] += x * b.data[k * b.row_stride + n * b.column_stride];
    }
    for (int64_t n = 0; n < b.columns; ++n) {
      if (options.bias) row[n] += options.bias[n];
      if (options.relu) row[n] = std::max(row[n], 0.0f);
    }
  });
}

void matmul_batch(MatmulBatch batch, Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  for (int64_t i = 0; i < batch.count; ++i) {
    matmul(a, b, c, c_row_stride, options);
    a.data += batch.a_stride, b.data += batch.b_stride, c += batch.c_stride;
  }
}

}  // namespace qkv::kernel
