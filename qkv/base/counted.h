// A number and what it counts, for messages: "1 line", "2 lines".
//
//     fmt::format("{} in {}", counted(n, "tensor"), counted(m, "vocabulary", "vocabularies"))
//     fmt::format("{} missing", counted(n, "tensor is", "tensors are"))
//
// Without a plural, it is the singular with an s. As an argument of require() it becomes text only if that fails.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include <fmt/core.h>

namespace qkv {

struct Counted {
  int64_t count = 0;
  std::string_view one, many;  // many may be empty
};

template <std::integral T>
Counted counted(T count, std::string_view one, std::string_view many = {}) {
  return {static_cast<int64_t>(count), one, many};
}

}  // namespace qkv

template <>
struct fmt::formatter<qkv::Counted> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const qkv::Counted& counted, fmt::format_context& context) const {
    if (counted.count == 1) return fmt::format_to(context.out(), "1 {}", counted.one);
    if (counted.many.empty()) return fmt::format_to(context.out(), "{} {}s", counted.count, counted.one);
    return fmt::format_to(context.out(), "{} {}", counted.count, counted.many);
  }
};
