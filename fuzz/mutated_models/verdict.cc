#include "fuzz/mutated_models/verdict.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace qkv::fuzz {
namespace {

constexpr int bad_input = 1;

// Words of a library or of the language that say nothing to who reads the message.
constexpr std::array internal_words = {
    "std::",    "basic_string",   "map::at",  "vector::", "bad_alloc", "bad_cast", "terminate",
    "yaml-cpp", "json.exception", "nlohmann", "stoi",     "stod",      ".cc:",     ".cc("};

Verdict finding(std::string text) { return {"FINDING: " + std::move(text), true}; }

int64_t lines_in(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return (c < ' ' && c != '\n') || c == 127; });
}

// Of any message; "" if it is a good one.
std::string fault_of(const std::string& message) {
  for (const char* word : internal_words)
    if (message.find(word) != message.npos) return fmt::format("the message has '{}'", word);
  if (has_control_characters(message)) return "control characters in the message";
  if (message.find("out of memory") != message.npos) return "more than 4 GB";
  return "";
}

}  // namespace

Verdict judge(const Outcome& outcome, const Outcome& whole, const Expected& expected) {
  if (outcome.end == Outcome::End::crashed) return finding(fmt::format("crash, signal {}", outcome.code));
  if (outcome.end == Outcome::End::too_slow) return finding("more than 10 seconds");
  if (const std::string fault = fault_of(outcome.errors); !fault.empty()) return finding(fault);
  if (outcome.code == 0) {
    if (expected.answers_lines && lines_in(outcome.output) != lines_in(whole.output))
      return finding("another number of answers");
    if (expected.gives_numbers && outcome.output.find("nan") != std::string::npos)
      return finding("an answer that is not a number");
    if (outcome.output == whole.output) return {"used, same answer"};
    return expected.checked ? finding("damage that the checksums did not show") : Verdict{"used, another answer"};
  }
  if (outcome.code != bad_input) return finding(fmt::format("exit code {}", outcome.code));
  if (outcome.errors.empty()) return finding("refused without a message");
  if (lines_in(outcome.errors) != 1) return finding("refused in several lines");
  if (outcome.errors.find(expected.folder) == outcome.errors.npos) return finding("refused without naming a file");
  return {"refused, naming a file"};
}

}  // namespace qkv::fuzz
