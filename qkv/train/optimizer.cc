#include "qkv/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

constexpr int64_t piece_size = 32768;

// each(parameter, begin, end) for pieces of at most piece_size elements.
template <class Each>
void for_each_piece(std::span<const Variable> parameters, Each each) {
  for (size_t p = 0; p < parameters.size(); ++p)
    for (int64_t begin = 0, n = parameters[p].value().numel(); begin < n; begin += piece_size)
      each(p, begin, std::min(n, begin + piece_size));
}

double bytes_of(std::span<const Variable> parameters) {
  int64_t numbers = 0;
  for (const Variable& parameter : parameters) numbers += parameter.value().numel();
  return static_cast<double>(numbers) * sizeof(float);
}

void check(const AdamOptions& o) {
  for (const double beta : {o.beta1, o.beta2})
    require<UsageError>(beta >= 0 && beta < 1, "Adam", "a beta must be in [0, 1), got {}", beta);
  require<UsageError>(o.eps >= 0 && std::isfinite(o.eps), "Adam", "eps must not be negative, got {}", o.eps);
  require<UsageError>(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "Adam",
                      "weight decay must not be negative, got {}", o.weight_decay);
}

}  // namespace

Adam::Adam(std::vector<Variable> parameters, const AdamOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  check(options_);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Variable& parameter = parameters_[i];
    require(parameter.requires_grad() && parameter.value().contiguous(), "Adam",
            "parameter {} of {} must require a gradient and be contiguous", i, parameters_.size());
    for (size_t j = 0; j < i; ++j)
      require(!(parameters_[j] == parameter), "Adam", "parameters {} and {} are the same", j, i);
    first_.push_back(Tensor::zeros(parameter.shape()));
    second_.push_back(Tensor::zeros(parameter.shape()));
  }
  for_each_piece(parameters_, [&](size_t p, int64_t begin, int64_t end) { pieces_.push_back({p, begin, end}); });
}

void Adam::step(double learning_rate, double grad_scale) {
  const OpScope scope("adam", {.bytes = 7.0 * bytes_of(parameters_)}, OpPass::other);
  ++updates_;
  const double n = static_cast<double>(updates_);
  kernel::AdamStep undecayed{.lr = learning_rate,
                             .beta1 = options_.beta1,
                             .beta2 = options_.beta2,
                             .eps = options_.eps,
                             .correction1 = 1 / (1 - std::pow(options_.beta1, n)),
                             .correction2 = 1 / (1 - std::pow(options_.beta2, n)),
                             .grad_scale = grad_scale};
  kernel::AdamStep decayed = undecayed;
  decayed.weight_decay = options_.weight_decay;
  struct Pointers {
    float *p, *m, *v;
    const float* g;
  };
  std::vector<Pointers> at;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& grad = parameters_[i].grad();
    if (grad.defined()) {
      at.push_back({parameters_[i].mutable_value().data<float>(), first_[i].data<float>(), second_[i].data<float>(),
                    grad.span<float>().data()});
    } else {
      at.push_back({});
    }
  }
  parallel_for(static_cast<int64_t>(pieces_.size()), [&](int64_t i) {
    const auto& [parameter, begin, end] = pieces_[static_cast<size_t>(i)];
    const auto& [p, m, v, g] = at[parameter];
    if (!g) return;
    const bool decays = options_.decay_vectors || parameters_[parameter].value().rank() >= 2;
    kernel::kernels().rows.adam(p + begin, m + begin, v + begin, g + begin, end - begin,
                                decays ? decayed : undecayed);
  });
}

void Adam::zero_grad() {
  for (Variable& parameter : parameters_) parameter.zero_grad();
}

void Adam::set_updates(int64_t updates) {
  require(updates >= 0, "Adam", "the number of updates must not be negative, got {}", updates);
  updates_ = updates;
}

double gradient_norm(std::span<const Variable> parameters) {
  const OpScope scope("gradient norm", {.bytes = bytes_of(parameters)}, OpPass::other);
  struct Piece {
    const float* g;
    int64_t n;
  };
  std::vector<Piece> pieces;
  for_each_piece(parameters, [&](size_t p, int64_t begin, int64_t end) {
    const Tensor& grad = parameters[p].grad();
    if (grad.defined()) pieces.push_back({grad.span<float>().data() + begin, end - begin});
  });
  std::vector<double> sums(pieces.size());
  parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i) {
    const auto& [g, n] = pieces[static_cast<size_t>(i)];
    sums[static_cast<size_t>(i)] = kernel::kernels().rows.sum_of_squares(g, n);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

double clip_factor(double norm, double max_norm) {
  require<UsageError>(max_norm >= 0, "clip", "the maximum norm must not be negative, got {}", max_norm);
  return max_norm > 0 && norm > max_norm ? max_norm / norm : 1.0;
}

double clip_gradients(std::span<Variable> parameters, double max_norm) {
  const double norm = gradient_norm(parameters);
  const double factor = clip_factor(norm, max_norm);
  if (factor == 1.0) return norm;
  for_each_piece(parameters, [&](size_t p, int64_t begin, int64_t end) {
    if (!parameters[p].grad().defined()) return;
    float* g = parameters[p].mutable_grad().data<float>() + begin;
    kernel::kernels().rows.scale(g, static_cast<float>(factor), end - begin, g);
  });
  return norm;
}

}  // namespace qkv
