#include "qkv/base/setting.h"

#include <cmath>

namespace qkv {

std::string to_string(const Range& range) {
  const auto& [from, above, to, below] = range;
  if (std::isfinite(from) && std::isfinite(to)) return fmt::format("{} to {}", from, to);
  std::string lower, upper;
  if (std::isfinite(from)) lower = fmt::format("at least {}", from);
  if (std::isfinite(above)) lower = fmt::format("above {}", above);
  if (std::isfinite(to)) upper = fmt::format("at most {}", to);
  if (std::isfinite(below)) upper = fmt::format("less than {}", below);
  if (lower.empty() && upper.empty()) return "a finite number";
  return lower + (lower.empty() || upper.empty() ? "" : " and ") + upper;
}

}  // namespace qkv
