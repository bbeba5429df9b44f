#include "qkv/train/adafactor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

constexpr double added_to_squares = 1e-30;

bool is_matrix(const Variable& parameter) { return parameter.value().rank() == 2; }

double sum(std::span<const double> x) {
  double total = 0;
  for (const double number : x) total += number;
  return total;
}

// What an update u is multiplied by, from the sum of its squares.
float step_size(double learning_rate, double squares, int64_t size) {
  return static_cast<float>(-learning_rate / std::max(1.0, std::sqrt(squares / static_cast<double>(size))));
}

}  // namespace

Adafactor::Adafactor(std::vector<Variable> parameters, const AdafactorOptions& options)
    : Optimizer(std::move(parameters)), options_(options) {
  require<UsageError>(options.weight_decay >= 0 && std::isfinite(options.weight_decay), "Adafactor",
                      "weight decay must not be negative, got {}", options.weight_decay);
  for (const Variable& parameter : Optimizer::parameters()) {
    const bool matrix = is_matrix(parameter);
    rows_.push_back(Tensor::zeros(matrix ? Shape{parameter.dim(0)} : parameter.shape()));
    columns_.push_back(matrix ? Tensor::zeros({parameter.dim(1)}) : Tensor());
  }
}

std::vector<OptimizerState> Adafactor::state() {
  std::vector<OptimizerState> all;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const bool matrix = columns_[i].defined();
    all.push_back({matrix ? "adafactor.rows" : "adafactor.second", i, rows_[i]});
    if (matrix) all.push_back({"adafactor.columns", i, columns_[i]});
  }
  return all;
}

void Adafactor::update(double learning_rate, double grad_scale) {
  const OpScope scope("adafactor", OpPass::other);
  const double beta = 1 - std::pow(static_cast<double>(updates()), -0.8);
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Variable& parameter = parameters()[i];
    if (!parameter.grad().defined() || parameter.value().numel() == 0) continue;
    if (is_matrix(parameter))
      update_matrix(i, beta, learning_rate, static_cast<float>(grad_scale));
    else
      update_vector(i, beta, learning_rate, static_cast<float>(grad_scale));
  }
}

void Adafactor::update_matrix(size_t i, double beta, double learning_rate, float grad_scale) {
  Variable& parameter = parameters()[i];
  const int64_t M = parameter.dim(0), N = parameter.dim(1);
  const float* const g = parameter.grad().span<float>().data();
  float *const R = rows_[i].data<float>(), *const C = columns_[i].data<float>();
  const auto average = [&](float& moment, double mean_square) {
    moment = static_cast<float>(beta * static_cast<double>(moment) + (1 - beta) * (mean_square + added_to_squares));
  };
  const auto square = [&](int64_t at) {
    const auto x = static_cast<double>(grad_scale * g[at]);
    return x * x;
  };
  parallel_ranges(M, std::max<int64_t>(1, 16384 / N), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      double squares = 0;
      for (int64_t n = 0; n < N; ++n) squares += square(m * N + n);
      average(R[m], squares / static_cast<double>(N));
    }
  });
  parallel_ranges(N, 64, [&](int64_t begin, int64_t end) {
    std::vector<double> squares(static_cast<size_t>(end - begin));
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = begin; n < end; ++n) squares[static_cast<size_t>(n - begin)] += square(m * N + n);
    for (int64_t n = begin; n < end; ++n)
      average(C[n], squares[static_cast<size_t>(n - begin)] / static_cast<double>(M));
  });
  double mean_of_rows = 0;
  for (int64_t m = 0; m < M; ++m) mean_of_rows += static_cast<double>(R[m]) / static_cast<double>(M);
  // 1 / sqrt(R_i C_j / mean(R)), as a factor of the row and one of the column.
  std::vector<float> of_row(static_cast<size_t>(M)), of_column(static_cast<size_t>(N));
  for (int64_t m = 0; m < M; ++m)
    of_row[static_cast<size_t>(m)] = static_cast<float>(std::sqrt(mean_of_rows / static_cast<double>(R[m])));
  for (int64_t n = 0; n < N; ++n)
    of_column[static_cast<size_t>(n)] = static_cast<float>(1 / std::sqrt(static_cast<double>(C[n])));
  std::vector<double> squares(static_cast<size_t>(M));
  const auto update_of = [&](int64_t m, int64_t n) {
    return grad_scale * g[m * N + n] * of_row[static_cast<size_t>(m)] * of_column[static_cast<size_t>(n)];
  };
  parallel_ranges(M, std::max<int64_t>(1, 16384 / N), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m)
      for (int64_t n = 0; n < N; ++n) {
        const auto u = static_cast<double>(update_of(m, n));
        squares[static_cast<size_t>(m)] += u * u;
      }
  });
  const float step = step_size(learning_rate, sum(squares), M * N);
  const auto kept = static_cast<float>(1 - learning_rate * options_.weight_decay);
  float* const p = parameter.mutable_value().data<float>();
  parallel_ranges(M, std::max<int64_t>(1, 16384 / N), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m)
      for (int64_t n = 0; n < N; ++n) p[m * N + n] = kept * p[m * N + n] + step * update_of(m, n);
  });
}

void Adafactor::update_vector(size_t i, double beta, double learning_rate, float grad_scale) {
  Variable& parameter = parameters()[i];
  const std::span<const float> g = parameter.grad().span<float>();
  const std::span<float> v = rows_[i].span<float>();
  std::vector<float> u(g.size());
  double squares = 0;
  for (size_t j = 0; j < g.size(); ++j) {
    const auto x = static_cast<double>(grad_scale * g[j]);
    v[j] = static_cast<float>(beta * static_cast<double>(v[j]) + (1 - beta) * (x * x + added_to_squares));
    u[j] = static_cast<float>(x / std::sqrt(static_cast<double>(v[j])));
    squares += static_cast<double>(u[j]) * static_cast<double>(u[j]);
  }
  const float step = step_size(learning_rate, squares, std::ssize(u));
  const std::span<float> p = parameter.mutable_value().span<float>();
  for (size_t j = 0; j < u.size(); ++j) p[j] += step * u[j];
}

}  // namespace qkv
