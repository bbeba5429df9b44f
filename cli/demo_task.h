// Small synthetic translation tasks, generated from a seed, for `qkv demo`. Training and held-out pairs share no
// source.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace qkv::cli {

struct DemoTask {
  using Pair = std::pair<std::string, std::string>;  // source, target

  std::string name;     // a folder name
  std::string summary;  // the task in one line
  std::vector<Pair> train, held_out;
  std::vector<std::string> examples;  // three sources to translate at the end
};

// Dates as people write them in English, German and French, to ISO 8601: "5. M\u00e4rz 2021" -> "2021-03-05".
DemoTask date_task(uint64_t seed, int64_t train, int64_t held_out);

// Whole numbers to English words: "4,217" -> "four thousand two hundred seventeen".
DemoTask number_task(uint64_t seed, int64_t train, int64_t held_out);

}  // namespace qkv::cli
