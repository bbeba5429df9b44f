#include <array>
#include <set>

#include <fmt/format.h>

#include "cli/demo_task.h"
#include "qkv/base/random.h"

namespace qkv::cli {
namespace {

constexpr std::array<const char*, 20> small = {
    "zero", "one",    "two",    "three",    "four",     "five",    "six",     "seven",     "eight",    "nine",
    "ten",  "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<const char*, 10> tens = {"",      "",      "twenty",  "thirty", "forty",
                                              "fifty", "sixty", "seventy", "eighty", "ninety"};

std::string in_words(uint64_t n) {
  if (n < 20) return small[n];
  if (n < 100) return n % 10 ? fmt::format("{}-{}", tens[n / 10], small[n % 10]) : tens[n / 10];
  const uint64_t unit = n < 1000 ? 100 : 1000;
  const std::string head = fmt::format("{} {}", in_words(n / unit), unit == 100 ? "hundred" : "thousand");
  return n % unit ? fmt::format("{} {}", head, in_words(n % unit)) : head;
}

// 271828 is written 271,828, with a comma after the thousands.
std::string in_digits(uint64_t n) {
  return n < 1000 ? fmt::format("{}", n) : fmt::format("{},{:03}", n / 1000, n % 1000);
}

uint64_t random_number(
    Random& random) {  // 1 to 6 digits with equal probability, so that short numbers are not rare
  uint64_t below = 1;
  for (uint64_t digits = 1 + random.below(6); digits > 0; --digits) below *= 10;
  return random.below(below);
}

}  // namespace

DemoTask number_task(uint64_t seed, int64_t train, int64_t held_out) {
  DemoTask task = {.name = "numbers",
                   .summary = "whole numbers up to 999999 to English words",
                   .train = {},
                   .held_out = {},
                   .examples = {"1,984", "271,828", "90,017"}};
  Random random(seed, 2);
  std::set<uint64_t> held = {1984, 271828, 90017};
  const auto pair = [](uint64_t n) { return DemoTask::Pair(in_digits(n), in_words(n)); };
  while (static_cast<int64_t>(task.held_out.size()) < held_out)
    if (const uint64_t n = random_number(random); n >= 1000 && held.insert(n).second)
      task.held_out.push_back(pair(n));
  while (static_cast<int64_t>(task.train.size()) < train)
    if (const uint64_t n = random_number(random); !held.contains(n)) task.train.push_back(pair(n));
  return task;
}

}  // namespace qkv::cli
