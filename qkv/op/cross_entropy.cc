#include "qkv/op/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/matmul.h"
#include "qkv/op/product_work.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

int64_t passes(const CrossEntropyOptions& options) { return options.r_drop > 0 ? 2 : 1; }

// The tokens whose target is not ignored. A token is a row, with R-Drop the rows n and n + N/2.
std::vector<int64_t> counted_tokens(const char* op, const Tensor& targets, int64_t N, int64_t V,
                                    const CrossEntropyOptions& options) {
  require(targets.dtype() == DType::i32 && targets.shape() == Shape{N}, op,
          "targets are {} {}, expected i32 (N {})", name_of(targets.dtype()), targets.shape(), N);
  require(options.label_smoothing >= 0 && options.label_smoothing < 1, op,
          "label smoothing must be in [0, 1), got {}", options.label_smoothing);
  require(options.r_drop >= 0 && std::isfinite(options.r_drop), op,
          "the weight of R-Drop must be 0 or more, got {}", options.r_drop);
  const auto target = targets.span<int32_t>();
  const int64_t tokens = N / passes(options);
  require(tokens * passes(options) == N, op, "R-Drop needs two rows for every token, got N {}", N);
  std::vector<int64_t> counted;
  for (int64_t n = 0; n < N; ++n) {
    const int32_t id = target[static_cast<size_t>(n)];
    if (n >= tokens) {
      const int32_t first = target[static_cast<size_t>(n - tokens)];
      require(id == first, op, "R-Drop: the target of token {} is {} in one pass and {} in the other", n - tokens,
              first, id);
      continue;
    }
    if (id == options.ignore_index) continue;
    require(id >= 0 && id < V, op, "target {} of token {} is not one of V {} classes", id, n, V);
    counted.push_back(n);
  }
  return counted;
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

// The loss of a token from its logits, in one pass or two, and the gradients of these unless they are null.
struct TokenLoss {
  int64_t V;
  float factor;  // of the gradients
  const CrossEntropyOptions& options;

  // Gradients may be written over the logits.
  float operator()(const float* logits, int32_t target, float* dlogits) const {
    return kernel::kernels().rows.cross_entropy(logits, V, target, options.label_smoothing, factor, dlogits);
  }
  // Gradients must not overlap the logits.
  float operator()(const float* p, const float* q, int32_t target, float* dp, float* dq) const {
    const kernel::RowKernels& rows = kernel::kernels().rows;
    const float a = options.r_drop / 4, half = factor / 2;
    const float p_loss = rows.cross_entropy(p, V, target, options.label_smoothing, half, dp);
    const float q_loss = rows.cross_entropy(q, V, target, options.label_smoothing, half, dq);
    return (p_loss + q_loss) / 2 + a * rows.symmetric_divergence(p, q, V, factor * a, dp, dq);
  }
};

// Rows whose logits are computed at a time. About 8 MiB of them stay in a cache between the three products that use them. But
// each piece reads and writes dw (V,C) once: C / 2 rows move as many bytes themselves, and so they are worth up to 64 MiB.
int64_t rows_of_piece(int64_t V, int64_t C) {
  const int64_t cached = (int64_t{8} << 20) / (V * int64_t{sizeof(float)}), most = 8 * cached;
  return std::clamp<int64_t>(std::max(cached, std::min(C / 2, most)) / 64 * 64, 64, 1024);
}

// The products of a piece with a weight W (V,C) in training. The packed forms of a large weight would take as much memory as
// what some layers keep for the backward; the products pack what they need of it, and a step takes no longer.
class PieceProducts {
 public:
  PieceProducts(const Weight& w, int64_t rows, bool with_gradient) {
    constexpr int64_t large = int64_t{16} << 20;  // bytes
    if (with_gradient && w.shape().numel() * int64_t{sizeof(float)} >= large) unpacked_ = w.unpacked();
    if (unpacked_) return;
    forward_ = with_gradient ? w.recorded_forward(rows) : w.forward();
    if (with_gradient) backward_ = w.backward(rows);
  }

  const kernel::PackedMatrix& form() const { return forward_; }  // for ProductWork; empty, as of f32, if not packed
  // x W^T + bias
  void logits(kernel::Matrix x, const float* bias, float* to, int64_t V) const {
    if (unpacked_)
      kernel::matmul(x, unpacked_->transposed(), to, V, {.bias = bias});
    else
      kernel::matmul(x, forward_, to, V, {.bias = bias});
  }
  // dlogits W
  void gradient(kernel::Matrix dlogits, float* dx, int64_t C) const {
    if (unpacked_)
      kernel::matmul(dlogits, *unpacked_, dx, C);
    else
      kernel::matmul(dlogits, backward_, dx, C);
  }

 private:
  std::optional<kernel::Matrix> unpacked_ = {};
  kernel::PackedMatrix forward_ = {}, backward_ = {};
};

}  // namespace

CrossEntropy cross_entropy(const Variable& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require(logits.value().rank() == 2 && logits.dim(1) > 0, "cross_entropy", "logits must be (N,V), got {}",
          logits.shape());
  const OpScope scope("cross_entropy", OpWork::moves(logits.value(), logits.requires_grad() ? 2 : 1));
  const int64_t N = logits.dim(0), V = logits.dim(1);
  const std::vector<int64_t> rows = counted_tokens("cross_entropy", targets, N, V, options);
  const int64_t tokens = N / passes(options);
  const float factor = gradient_scale(options, rows.size());
  const Tensor in = logits.value().contiguous_copy(), target = targets.contiguous_copy();
  Tensor losses = Tensor::zeros({tokens}), dlogits;
  if (logits.requires_grad()) dlogits = Tensor::zeros({N, V});
  const TokenLoss loss_of{V, factor, options};
  const float* x = in.data<float>();
  const int32_t* t = target.data<int32_t>();
  float *loss = losses.data<float>(), *dx = dlogits.defined() ? dlogits.data<float>() : nullptr;
  for_each_row(static_cast<int64_t>(rows.size()), V, [&](int64_t i) {
    const int64_t n = rows[static_cast<size_t>(i)], p = n * V, q = (n + tokens) * V;
    loss[n] = tokens == N ? loss_of(x + p, t[n], dx ? dx + p : nullptr)
                          : loss_of(x + p, x + q, t[n], dx ? dx + p : nullptr, dx ? dx + q : nullptr);
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
  const Weight& w = weights.weight;
  const Variable& b = weights.bias;
  require(x.value().rank() == 2 && w.shape().rank() == 2 && x.dim(1) == w.dim(1) && w.dim(0) > 0,
          "linear_cross_entropy", "x (N,C) is {}, w (V,C) is {}: C must agree", x.shape(), w.shape());
  const OpScope scope("linear_cross_entropy");
  const int64_t N = x.dim(0), C = x.dim(1), V = w.dim(0);
  require(!b.defined() || b.shape() == Shape{V}, "linear_cross_entropy", "w (V,C) is {}, b (V) is {}: V must agree",
          w.shape(), b.defined() ? b.shape() : Shape{});
  const std::vector<int64_t> rows = counted_tokens("linear_cross_entropy", targets, N, V, options);
  const int64_t count = static_cast<int64_t>(rows.size()), tokens = N / passes(options);
  const float factor = gradient_scale(options, rows.size());
  std::vector<Variable> inputs = {x, w.master()};
  if (b.defined()) inputs.push_back(b);
  const bool with_gradient = recording(inputs), two_passes = tokens < N;
  const Tensor bias = b.defined() ? b.value().contiguous_copy() : Tensor();
  const Tensor in = x.value().contiguous_copy(), target = targets.contiguous_copy();
  const int32_t* t = target.data<int32_t>();

  const int64_t piece = rows_of_piece(V, C);
  Tensor x_piece = Tensor::empty({piece, C}), logits = Tensor::empty({piece, V}),
         dx_piece = Tensor::empty({piece, C});
  // With one pass, gradients are written over the logits.
  Tensor dlogits = two_passes && with_gradient ? Tensor::empty({piece, V}) : logits;
  Tensor losses = Tensor::zeros({tokens}), dx, dw, db;
  if (with_gradient) {
    dx = Tensor::zeros({N, C});
    dw = Tensor::zeros({V, C});
    if (b.defined()) db = Tensor::zeros({V});
  }
  const TokenLoss loss_of{V, factor, options};
  const PieceProducts products(w, count, with_gradient);
  float *xs = x_piece.data<float>(), *ls = logits.data<float>(), *gs = dlogits.data<float>(),
        *ds = dx_piece.data<float>();
  float* loss = losses.data<float>();
  for (int64_t begin = 0; begin < count; begin += piece / passes(options)) {
    const int64_t here = std::min(piece / passes(options), count - begin), M = here * passes(options);
    const int64_t* token = rows.data() + begin;
    // Rows of a piece: its tokens in the first pass, then in the second.
    const auto row = [&](int64_t i) { return i < here ? token[i] : token[i - here] + tokens; };
    for_each_row(M, C, [&](int64_t i) { std::copy_n(in.data<float>() + row(i) * C, C, xs + i * C); });
    {
      const OpScope product("linear_cross_entropy: logits", ProductWork(M, w.shape(), products.form()));
      products.logits({xs, M, C}, b.defined() ? bias.data<float>() : nullptr, ls, V);
    }
    const auto loss_of_row = [&](int64_t i) {
      float *p = ls + i * V, *q = ls + (here + i) * V;
      float *dp = with_gradient ? gs + i * V : nullptr, *dq = with_gradient ? gs + (here + i) * V : nullptr;
      const int32_t wanted = t[token[i]];
      loss[token[i]] = two_passes ? loss_of(p, q, wanted, dp, dq) : loss_of(p, wanted, dp);
    };
    {
      const OpScope softmax("linear_cross_entropy: loss",
                            OpWork::moves(logits.slice(0, 0, M), with_gradient ? 2 : 1));
      for_each_row(here, V, loss_of_row);
    }
    if (!with_gradient) continue;
    {
      const OpScope product("linear_cross_entropy: dx", ProductWork(M, w.shape(), products.form()));
      products.gradient({gs, M, V}, ds, C);
    }
    float* out = dx.data<float>();
    for_each_row(M, C, [&](int64_t i) { std::copy_n(ds + i * C, C, out + row(i) * C); });
    w.gradient({gs, M, V}, {xs, M, C}, dw.data<float>(), true);
    if (b.defined()) {
      const Tensor sums = sum_rows(dlogits.slice(0, 0, M), V);
      kernel::kernels().rows.add(db.data<float>(), sums.data<float>(), V, db.data<float>());
    }
  }
  CrossEntropy result = result_of(losses, factor, rows.size());
  result.loss =
      record("linear_cross_entropy", inputs, result.loss.value(),
             [dx, dw, db](const Tensor& dloss, const std::vector<bool>& needs) mutable {
               const float upstream = dloss.at<float>({0});
               std::vector<Tensor> grads = {times(std::move(dx), upstream), times(std::move(dw), upstream)};
               if (needs.size() > 2) grads.push_back(times(std::move(db), upstream));
               return grads;
             });
  return result;
}

}  // namespace qkv
