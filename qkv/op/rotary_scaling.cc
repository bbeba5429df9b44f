#include "qkv/op/rotary_scaling.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

#include <fmt/format.h>

#include "qkv/base/error.h"

namespace qkv {
namespace {

using enum RotaryScalingType;

// base^(-2c/d), c < pairs
std::vector<double> powers(double base, int64_t d, int64_t pairs) {
  std::vector<double> out;
  for (int64_t c = 0; c < pairs; ++c)
    out.push_back(std::pow(base, -2.0 * static_cast<double>(c) / static_cast<double>(d)));
  return out;
}

double ramp(double x, double from, double to) { return std::clamp((x - from) / (to - from), 0.0, 1.0); }

RotaryFrequencies linear_frequencies(double base, int64_t d, const RotaryScaling& o) {
  std::vector<double> f = powers(base, d, d / 2);
  for (double& frequency : f) frequency /= o.factor;
  return {f};
}

RotaryFrequencies dynamic_frequencies(double base, int64_t d, const RotaryScaling& o) {
  const auto P = static_cast<double>(o.original_positions), n = std::max(static_cast<double>(o.length), P);
  const double exponent = static_cast<double>(d) / static_cast<double>(d - 2);
  return {powers(base * std::pow(1 + o.factor * (n / P - 1), exponent), d, d / 2)};
}

// Frequencies of at least `high` rotations within P positions are kept, those below `low` are interpolated.
RotaryFrequencies llama3_frequencies(double base, int64_t d, const RotaryScaling& o) {
  std::vector<double> f = powers(base, d, d / 2);
  for (double& frequency : f) {
    const double rotations = static_cast<double>(o.original_positions) * frequency / (2 * std::numbers::pi);
    const double kept = ramp(rotations, o.low_frequency_factor, o.high_frequency_factor);
    frequency = kept * frequency + (1 - kept) * frequency / o.factor;
  }
  return {f};
}

// The same with a ramp over the columns.
RotaryFrequencies yarn_frequencies(double base, int64_t d, const RotaryScaling& o) {
  const auto pair_of = [&](double rotations) {  // within P positions
    return static_cast<double>(d) *
           std::log(static_cast<double>(o.original_positions) / (2 * std::numbers::pi * rotations)) /
           (2 * std::log(base));
  };
  double lo = pair_of(o.beta_fast), hi = pair_of(o.beta_slow);
  if (o.truncate) lo = std::floor(lo), hi = std::ceil(hi);
  lo = std::max(lo, 0.0), hi = std::min(hi, static_cast<double>(d - 1));
  if (lo == hi) hi += 0.001;
  std::vector<double> f = powers(base, d, d / 2);
  for (size_t c = 0; c < f.size(); ++c) {
    const double interpolated = ramp(static_cast<double>(c), lo, hi);
    f[c] = interpolated * f[c] / o.factor + (1 - interpolated) * f[c];
  }
  const auto g = [&](double x) { return 0.1 * x * std::log(std::max(o.factor, 1.0)) + 1; };
  const bool scales = o.mscale != 0 && o.mscale_all_dim != 0;
  const double formula = scales ? g(o.mscale) / g(o.mscale_all_dim) : g(1);
  return {f, o.attention_factor != 0 ? o.attention_factor : formula};
}

RotaryFrequencies longrope_frequencies(double base, int64_t d, const RotaryScaling& o) {
  std::vector<double> f = powers(base, d, d / 2);
  const std::vector<double>& factors = o.length > o.original_positions ? o.long_factors : o.short_factors;
  for (size_t c = 0; c < f.size(); ++c) f[c] /= factors[c];
  const double formula =
      std::sqrt(1 + std::log(std::max(o.factor, 1.0)) / std::log(static_cast<double>(o.original_positions)));
  return {f, o.attention_factor != 0 ? o.attention_factor : formula};
}

RotaryFrequencies proportional_frequencies(double base, int64_t d, const RotaryScaling& o, int64_t head_width) {
  std::vector<double> f = powers(base, head_width, d / 2);
  for (double& frequency : f) frequency /= o.factor;
  f.resize(static_cast<size_t>(head_width / 2), 0.0);
  return {f};
}

// An error for a member that the type does not read and that is not at its default; "" if there is none.
std::string unread(const RotaryScaling& o) {
  const RotaryScaling defaults;
  using Types = std::initializer_list<RotaryScalingType>;
  const auto check = [&](const char* name, auto RotaryScaling::*member, Types types) -> std::string {
    if (o.*member == defaults.*member || std::ranges::find(types, o.type) != types.end()) return "";
    std::vector<std::string_view> names;
    for (const RotaryScalingType type : types) names.push_back(name_of(type));
    return fmt::format("{} is for the scaling {}, got {}", name, name_list(names), name_of(o.type));
  };
  for (const std::string& error :
       {check("factor", &RotaryScaling::factor, {linear, dynamic, llama3, yarn, longrope, proportional}),
        check("original-positions", &RotaryScaling::original_positions, {dynamic, llama3, yarn, longrope}),
        check("length", &RotaryScaling::length, {dynamic, longrope}),
        check("attention-factor", &RotaryScaling::attention_factor, {yarn, longrope}),
        check("low-frequency-factor", &RotaryScaling::low_frequency_factor, {llama3}),
        check("high-frequency-factor", &RotaryScaling::high_frequency_factor, {llama3}),
        check("beta-fast", &RotaryScaling::beta_fast, {yarn}),
        check("beta-slow", &RotaryScaling::beta_slow, {yarn}), check("truncate", &RotaryScaling::truncate, {yarn}),
        check("mscale", &RotaryScaling::mscale, {yarn}),
        check("mscale-all-dim", &RotaryScaling::mscale_all_dim, {yarn}),
        check("short", &RotaryScaling::short_factors, {longrope}),
        check("long", &RotaryScaling::long_factors, {longrope})})
    if (!error.empty()) return error;
  return "";
}

bool needs_original_positions(RotaryScalingType type) {
  return type == dynamic || type == llama3 || type == yarn || type == longrope;
}

}  // namespace

std::string rotary_scaling_error(double base, int64_t width, const RotaryScaling& o) {
  if (std::string error = unread(o); !error.empty()) return error;
  const std::string_view type = name_of(o.type);
  if (!(o.factor > 0) || !std::isfinite(o.factor))
    return fmt::format("factor must be a positive number, got {}", o.factor);
  if (needs_original_positions(o.type) && o.original_positions < 2)
    return fmt::format("the scaling {} needs original-positions, the length of the first training, got {}", type,
                       o.original_positions);
  if (o.type == dynamic && width <= 2)
    return fmt::format("the scaling dynamic needs a width of more than 2 columns, got {}", width);
  if (o.type == llama3 && !(o.low_frequency_factor < o.high_frequency_factor))
    return fmt::format("low-frequency-factor must be less than high-frequency-factor, got {} and {}",
                       o.low_frequency_factor, o.high_frequency_factor);
  if (o.type == yarn && !(base > 1))
    return fmt::format("the scaling yarn needs a base of more than 1, got {}", base);
  if (o.type == yarn && !(o.beta_fast > 0 && o.beta_slow > 0))
    return fmt::format("beta-fast and beta-slow must be positive, got {} and {}", o.beta_fast, o.beta_slow);
  if (o.type == longrope)
    for (const auto& [name, factors] : {std::pair("short", &o.short_factors), std::pair("long", &o.long_factors)}) {
      if (std::ssize(*factors) != width / 2)
        return fmt::format("{} must have a factor for each of the {} pairs of columns, got {}", name, width / 2,
                           factors->size());
      for (const double factor : *factors)
        if (!(factor > 0) || !std::isfinite(factor))
          return fmt::format("{} must have positive factors, got {}", name, factor);
    }
  return "";
}

RotaryFrequencies rotary_frequencies(double base, int64_t width, const RotaryScaling& scaling, int64_t head_width) {
  if (head_width == 0) head_width = width;
  require(base > 0 && std::isfinite(base), "rotary_frequencies", "the base must be a positive number, got {}",
          base);
  require(width >= 2 && width % 2 == 0, "rotary_frequencies", "the width must be even and positive, got {}", width);
  require(head_width >= width && head_width % 2 == 0, "rotary_frequencies",
          "the width {} must be at most the width of a head, which must be even, got {}", width, head_width);
  const std::string error = rotary_scaling_error(base, width, scaling);
  require(error.empty(), "rotary_frequencies", "{}", error);
  require(scaling.length > 0 || !depends_on_length(scaling.type), "rotary_frequencies",
          "the scaling {} needs length, the length of the longest sequence", name_of(scaling.type));
  switch (scaling.type) {
    case none: break;
    case RotaryScalingType::linear: return linear_frequencies(base, width, scaling);
    case dynamic: return dynamic_frequencies(base, width, scaling);
    case llama3: return llama3_frequencies(base, width, scaling);
    case yarn: return yarn_frequencies(base, width, scaling);
    case longrope: return longrope_frequencies(base, width, scaling);
    case proportional: return proportional_frequencies(base, width, scaling, head_width);
  }
  return {powers(base, width, width / 2)};
}

}  // namespace qkv
