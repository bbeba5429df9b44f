#include "qkv/train/parameter_norms.h"

#include <cmath>
#include <span>

namespace qkv {
namespace {

double root_mean_square(std::span<const float> x, double scale = 1) {
  double sum = 0;
  for (const float element : x) sum += static_cast<double>(element) * static_cast<double>(element);
  return x.empty() ? 0 : scale * std::sqrt(sum / static_cast<double>(x.size()));
}

double root_mean_square(std::span<const float> x, std::span<const float> minus) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(minus[i]);
    sum += difference * difference;
  }
  return x.empty() ? 0 : std::sqrt(sum / static_cast<double>(x.size()));
}

}  // namespace

ParameterNorms::ParameterNorms(std::vector<std::pair<std::string, Variable>> parameters)
    : parameters_(std::move(parameters)) {}

void ParameterNorms::before_update(double gradient_scale) {
  before_.clear();
  norms_.clear();
  for (const auto& [name, parameter] : parameters_) {
    before_.push_back(parameter.value().clone());
    Norms norms{.value = root_mean_square(parameter.value().span<float>())};
    if (parameter.grad().defined())
      norms.gradient = root_mean_square(parameter.grad().span<float>(), gradient_scale);
    norms_.emplace_back(name, norms);
  }
}

void ParameterNorms::after_update() {
  for (size_t i = 0; i < parameters_.size(); ++i)
    norms_[i].second.update =
        root_mean_square(parameters_[i].second.value().span<float>(), before_[i].span<float>());
  before_.clear();
}

}  // namespace qkv
