#include "qkv/train/muon.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/matmul.h"

namespace qkv {
namespace {

using kernel::Matrix;

// Calls each(begin, end) for the elements in pieces.
template <class Each>
void for_each_piece(int64_t size, Each each) {
  parallel_ranges(size, 16384, each);
}

// out = a x + out y, of all elements.
void add_scaled(float a, const Tensor& x, float y, Tensor& out) {
  const float* const from = x.data<float>();
  float* const to = out.data<float>();
  for_each_piece(out.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = a * from[i] + y * to[i];
  });
}

double norm_of(const Tensor& x) {
  constexpr int64_t piece = 32768;
  double squares = 0;
  for (int64_t i = 0; i < x.numel(); i += piece)
    squares += kernel::kernels().rows.sum_of_squares(x.data<float>() + i, std::min(piece, x.numel() - i));
  return std::sqrt(squares);
}

Tensor transposed_copy(const Tensor& x) { return x.transpose(0, 1).contiguous_copy(); }

std::vector<Variable> some(const std::vector<Variable>& all, const std::vector<size_t>& indices) {
  std::vector<Variable> out;
  for (const size_t i : indices) out.push_back(all[i]);
  return out;
}

std::vector<size_t> indices_of(const std::vector<Variable>& parameters, const std::vector<bool>& is_hidden_matrix,
                               bool hidden) {
  require(parameters.size() == is_hidden_matrix.size(), "Muon", "{} parameters, but {} say what they are",
          parameters.size(), is_hidden_matrix.size());
  std::vector<size_t> out;
  for (size_t i = 0; i < parameters.size(); ++i)
    if ((is_hidden_matrix[i] && parameters[i].value().rank() == 2) == hidden) out.push_back(i);
  return out;
}

}  // namespace

Tensor orthogonalized(const Tensor& given) {
  require(given.rank() == 2 && given.dtype() == DType::f32, "Muon", "expected an f32 matrix (M,N), got {} {}",
          name_of(given.dtype()), given.shape());
  const bool turned = given.dim(0) > given.dim(1);  // the Gram matrix is that of the shorter side
  Tensor x = turned ? transposed_copy(given) : given.contiguous_copy();
  if (x.storage() == given.storage()) x = x.clone();
  const int64_t M = x.dim(0), N = x.dim(1);
  const double norm = norm_of(x);
  if (norm == 0 || x.numel() == 0) return given.clone();
  add_scaled(0, x, static_cast<float>(1 / norm), x);
  constexpr float a = 3.4445f, b = -4.7750f, c = 2.0315f;
  Tensor gram = Tensor::empty({M, M}), polynomial = Tensor::empty({M, M}), next = Tensor::empty({M, N});
  for (int iteration = 0; iteration < 5; ++iteration) {
    const Matrix rows(x.data<float>(), M, N);
    matmul(rows, rows.transposed(), gram.data<float>(), M);
    const Matrix square(gram.data<float>(), M, M);
    matmul(square, square, polynomial.data<float>(), M);
    add_scaled(b, gram, c, polynomial);
    matmul(Matrix(polynomial.data<float>(), M, M), rows, next.data<float>(), N);
    add_scaled(a, x, 1, next);
    std::swap(x, next);
  }
  return turned ? transposed_copy(x) : x;
}

Muon::Muon(std::vector<Variable> parameters, const std::vector<bool>& is_hidden_matrix, const MuonOptions& options)
    : Optimizer(parameters),
      options_(options),
      matrices_(indices_of(parameters, is_hidden_matrix, true)),
      others_(indices_of(parameters, is_hidden_matrix, false)),
      adam_(some(parameters, others_), options.adam) {
  require<UsageError>(options.momentum >= 0 && options.momentum < 1, "Muon", "momentum must be in [0, 1), got {}",
                      options.momentum);
  require<UsageError>(options.weight_decay >= 0 && std::isfinite(options.weight_decay), "Muon",
                      "weight decay must not be negative, got {}", options.weight_decay);
  for (const size_t i : matrices_) momentum_.emplace_back(parameters[i].shape(), options_.adam.state);
}

std::vector<OptimizerState> Muon::state() {
  std::vector<OptimizerState> all = adam_.state();
  for (OptimizerState& state : all) state.parameter = others_[state.parameter];
  for (size_t i = 0; i < matrices_.size(); ++i)
    all.push_back({"muon.momentum", matrices_[i], momentum_[i].tensor()});
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.parameter < y.parameter; });
  return all;
}

void Muon::update(double learning_rate, double grad_scale) {
  adam_.set_updates(updates() - 1);
  adam_.step(learning_rate, grad_scale);
  const OpScope scope("muon", OpPass::other);
  const auto momentum = static_cast<float>(options_.momentum), scale = static_cast<float>(grad_scale);
  for (size_t i = 0; i < matrices_.size(); ++i) {
    Variable& parameter = parameters()[matrices_[i]];
    if (!parameter.grad().defined()) continue;
    const Tensor& g = parameter.grad();
    Tensor u = momentum_[i].numbers();
    add_scaled(scale, g, momentum, u);
    momentum_[i].replace(u, updates());
    add_scaled(scale, g, momentum, u);
    const auto longer = static_cast<double>(std::max(u.dim(0), u.dim(1)));
    const auto step = static_cast<float>(-learning_rate * 0.2 * std::sqrt(longer));
    const auto kept = static_cast<float>(1 - learning_rate * options_.weight_decay);
    add_scaled(step, orthogonalized(u), kept, parameter.mutable_value());
  }
}

}  // namespace qkv
