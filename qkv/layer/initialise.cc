#include "qkv/layer/initialise.h"

#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv {
namespace {

// FNV-1a: the random numbers of a parameter depend on its name, not on its index.
uint64_t stream_of(const std::string& name) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

void fan_in_uniform(Variable& parameter, uint64_t seed, const std::string& name) {
  require(parameter.value().rank() == 2, "fan_in_uniform", "'{}' must be a matrix, got {}", name,
          parameter.shape());
  const double bound = 1 / std::sqrt(static_cast<double>(parameter.dim(1)));
  Random random(seed, stream_of(name));
  for (float& x : parameter.mutable_value().span<float>()) x = static_cast<float>(random.uniform(-bound, bound));
}

Parameter::Initialise normal(double deviation) {
  return [deviation](Variable& parameter, uint64_t seed, const std::string& name) {
    Random random(seed, stream_of(name));
    for (float& x : parameter.mutable_value().span<float>()) x = static_cast<float>(deviation * random.normal());
  };
}

}  // namespace qkv
