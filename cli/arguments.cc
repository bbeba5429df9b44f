#include "cli/arguments.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> short_names = {
    {{"m", "model"}, {"p", "prompt"}, {"n", "max-tokens"}, {"i", "input"}, {"o", "output"}}};

// "--beam=3": a flag, and the value given with it.
struct Word {
  std::string flag;
  std::optional<std::string> value;
};

Word split(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == word.npos) return {word, {}};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

const CLI::Option* option_named(const CLI::App& command, const std::string& flag) {
  for (const auto& [name, meaning] : short_names)
    if (flag.size() == 2 && flag[0] == '-' && flag.substr(1) == name)
      return command.get_option_no_throw(fmt::format("--{}", meaning));
  return flag.starts_with('-') ? command.get_option_no_throw(flag) : nullptr;
}

// The boolean flag that --no-NAME turns off.
const CLI::Option* turned_off(const CLI::App& command, const Word& word) {
  if (word.value || !word.flag.starts_with("--no-")) return nullptr;
  const CLI::Option* option = command.get_option_no_throw("--" + word.flag.substr(5));
  return option && is_boolean(*option) ? option : nullptr;
}

bool takes_text(const CLI::App& command) {
  const auto positional = [](const CLI::Option* option) { return option->get_positional(); };
  const std::vector<const CLI::Option*> arguments = command.get_options(positional);
  return std::any_of(arguments.begin(), arguments.end(), [](const CLI::Option* argument) {
    return argument->get_type_name() == "SENTENCE" || argument->get_type_name() == "TEXT";
  });
}

bool is_truth_value(const std::string& text) { return text == "true" || text == "false"; }

}  // namespace

bool is_boolean(const CLI::Option& option) {
  return option.get_expected_max() == 0 && option.get_name() != "--help" && option.get_name() != "--version";
}

std::string_view short_name(const CLI::Option& option) {
  for (const auto& [name, meaning] : short_names)
    if (option.check_lname(std::string(meaning))) return name;
  return "";
}

std::vector<std::string> normalized(const CLI::App& command, const std::vector<std::string>& typed) {
  std::vector<std::string> out;
  const bool joins = !takes_text(command);
  for (size_t i = 0; i < typed.size(); ++i) {
    if (typed[i] == "--") {
      out.insert(out.end(), typed.begin() + static_cast<std::ptrdiff_t>(i), typed.end());
      break;
    }
    Word word = split(typed[i]);
    const CLI::Option* option = option_named(command, word.flag);
    if (!option)
      if ((option = turned_off(command, word)) != nullptr) word.value = "false";
    if (!option || option->get_name() == "--help") {
      out.push_back(typed[i]);
      continue;
    }
    const std::string name = option->get_name();
    const bool boolean = is_boolean(*option);
    if (boolean && joins && !word.value && i + 1 < typed.size() && is_truth_value(typed[i + 1]))
      word.value = typed[++i];
    if (boolean && word.value && !is_truth_value(*word.value))
      fail<UsageError>("qkv " + command.get_name(), "{} must be true or false, got {}", name,
                       quoted_name(*word.value));
    out.push_back(word.value ? fmt::format("{}={}", name, *word.value) : name);
    if (!boolean && !word.value && i + 1 < typed.size()) out.push_back(typed[++i]);
  }
  return out;
}

}  // namespace qkv::cli
