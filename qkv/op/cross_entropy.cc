#include "qkv/op/cross_entropy.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/matmul.h"
#include "qkv/op/packed_weight.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

// The rows whose target is not ignored.
std::vector<int64_t> counted_rows(const char* op, const Tensor& targets, int64_t N, int64_t V,
                                  const CrossEntropyOptions& options) {
  require(targets.dtype() == DType::i32 && targets.shape() == Shape{N}, op,
          "targets are {} {}, expected i32 (N {})", name_of(targets.dtype()), targets.shape(), N);
  require(options.label_smoothing >= 0 && options.label_smoothing < 1, op,
          "label smoothing must be in [0, 1), got {}", options.label_smoothing);
  std::vector<int64_t> rows;
  const auto target = targets.span<int32_t>();
  for (size_t n = 0; n < target.size(); ++n) {
    if (target[n] == options.ignore_index) continue;
    require(target[n] >= 0 && target[n] < V, op, "target {} of token {} is not one of V {} classes", target[n], n,
            V);
    rows.push_back(static_cast<int64_t>(n));
  }
  return rows;
}

float gradient_scale(const CrossEntropyOptions& options, size_t count) {
  const bool mean = options.reduction == CrossEntropyOptions::Reduction::mean;
  return mean && count > 0 ? 1.0f / static_cast<float>(count) : 1.0f;
}

CrossEntropy result_of(Tensor token_losses, float factor, size_t count) {
  const double total = kernel::kernels().rows.sum(token_losses.data<float>(), token_losses.numel());
  return {Variable(Tensor::full({1}, static_cast<float>(total * factor))), std::move(token_losses),
          static_cast<int64_t>(count)};
}

Tensor times(Tensor x, float factor) {
  if (factor == 1.0f) return x;
  float* data = x.data<float>();
  for_each_range(x.numel(), [&](int64_t i, int64_t end) {
    kernel::kernels().rows.scale(data + i, factor, end - i, data + i);
  });
  return x;
}

}  // namespace

CrossEntropy cross_entropy(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require(logits.value().rank() == 2 && logits.dim(1) > 0, "cross_entropy", "logits must be (N,V), got {}",
          logits.shape());
  const int64_t N = logits.dim(0), V = logits.dim(1);
  const std::vector<int64_t> rows = counted_rows("cross_entropy", targets, N, V, options);
  const float factor = gradient_scale(options, rows.size());
  const Tensor in = logits.value().contiguous_copy(), target = targets.contiguous_copy();
  Tensor losses = Tensor::zeros({N}), dlogits;
  if (logits.requires_grad()) dlogits = Tensor::zeros({N, V});
  const float* x = in.data<float>();
  const int32_t* t = target.data<int32_t>();
  float *loss = losses.data<float>(), *dx = dlogits.defined() ? dlogits.data<float>() : nullptr;
  for_each_row(static_cast<int64_t>(rows.size()), V, [&](int64_t i) {
    const int64_t n = rows[static_cast<size_t>(i)];
    loss[n] = kernel::kernels().rows.cross_entropy(x + n * V, V, t[n], options.label_smoothing, factor,
                                                   dx ? dx + n * V : nullptr);
  });
  CrossEntropy result = result_of(losses, factor, rows.size());
  result.loss = record("cross_entropy", {logits}, result.loss.value(),
                       [dlogits](const Tensor& dloss, const std::vector<bool>&) mutable {
                         return std::vector<Tensor>{times(std::move(dlogits), dloss.at<float>({0}))};
                       });
  return result;
}

CrossEntropy linear_cross_entropy(const Variable& x, const OutputWeights& weights, const Tensor& targets,
                                  const CrossEntropyOptions& options) {
  const Variable &w = weights.weight, &b = weights.bias;
  require(x.value().rank() == 2 && w.value().rank() == 2 && x.dim(1) == w.dim(1) && w.dim(0) > 0,
          "linear_cross_entropy", "x (N,C) is {}, w (V,C) is {}: C must agree", x.shape(), w.shape());
  const int64_t N = x.dim(0), C = x.dim(1), V = w.dim(0);
  require(!b.defined() || b.shape() == Shape{V}, "linear_cross_entropy", "w (V,C) is {}, b (V) is {}: V must agree",
          w.shape(), b.defined() ? b.shape() : Shape{});
  const std::vector<int64_t> rows = counted_rows("linear_cross_entropy", targets, N, V, options);
  const int64_t count = static_cast<int64_t>(rows.size());
  const float factor = gradient_scale(options, rows.size());
  std::vector<Variable> inputs = {x, w};
  if (b.defined()) inputs.push_back(b);
  const bool with_gradient = recording(inputs);
  const Tensor bias = b.defined() ? b.value().contiguous_copy() : Tensor();
  const Tensor in = x.value().contiguous_copy(), target = targets.contiguous_copy();
  const int32_t* t = target.data<int32_t>();

  // Logits of a piece: about 8 MiB, so that they stay in a cache between the three products that use them.
  const int64_t piece = std::clamp<int64_t>((int64_t{2} << 20) / V / 64 * 64, 64, 1024);
  Tensor x_piece = Tensor::empty({piece, C}), logits = Tensor::empty({piece, V}),
         dx_piece = Tensor::empty({piece, C});
  Tensor losses = Tensor::zeros({N}), dx, dw, db;
  if (with_gradient) {
    dx = Tensor::zeros({N, C});
    dw = Tensor::zeros({V, C});
    if (b.defined()) db = Tensor::zeros({V});
  }
  const kernel::PackedMatrix forward = packed_transposed(w);
  const kernel::PackedMatrix backward = with_gradient ? packed_plain(w) : kernel::PackedMatrix();
  float *xs = x_piece.data<float>(), *ls = logits.data<float>(), *ds = dx_piece.data<float>();
  float* loss = losses.data<float>();
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t M = std::min(piece, count - begin);
    const int64_t* row = rows.data() + begin;
    for_each_row(M, C, [&](int64_t i) { std::copy_n(in.data<float>() + row[i] * C, C, xs + i * C); });
    kernel::matmul({xs, M, C}, forward, ls, V, {.bias = b.defined() ? bias.data<float>() : nullptr});
    for_each_row(M, V, [&](int64_t i) {
      loss[row[i]] = kernel::kernels().rows.cross_entropy(ls + i * V, V, t[row[i]], options.label_smoothing, factor,
                                                          with_gradient ? ls + i * V : nullptr);
    });
    if (!with_gradient) continue;
    kernel::matmul({ls, M, V}, backward, ds, C);
    float* out = dx.data<float>();
    for_each_row(M, C, [&](int64_t i) { std::copy_n(ds + i * C, C, out + row[i] * C); });
    kernel::matmul(kernel::Matrix(ls, M, V).transposed(), {xs, M, C}, dw.data<float>(), C, {.accumulate = true});
    if (b.defined()) {
      const Tensor sums = sum_rows(logits.slice(0, 0, M), V);
      kernel::kernels().rows.add(db.data<float>(), sums.data<float>(), V, db.data<float>());
    }
  }
  CrossEntropy result = result_of(losses, factor, rows.size());
  result.loss = record("linear_cross_entropy", std::move(inputs), result.loss.value(),
                       [dx, dw, db](const Tensor& dloss, const std::vector<bool>& needs) mutable {
                         const float upstream = dloss.at<float>({0});
                         std::vector<Tensor> grads = {times(std::move(dx), upstream), times(std::move(dw), upstream)};
                         if (needs.size() > 2) grads.push_back(times(std::move(db), upstream));
                         return grads;
                       });
  return result;
}

}  // namespace qkv
