#include "cli/settings.h"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/flags.h"
#include "cli/toml_parser.h"
#include "cli/toml_text.h"
#include "qkv/base/names.h"

namespace qkv::cli {
namespace {

std::vector<std::string_view> command_names(const CLI::App& program) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

ValueType value_type(CLI::Option& option) {
  for (const auto& [type, name] : names_of(ValueType{})) {
    try {
      option.get_validator(std::string(name));
      return type;
    } catch (const CLI::OptionNotFound&) {
    }
  }
  return ValueType::text;
}

// A file of settings and where in it something is wrong.
struct Source {
  const std::string& path;

  template <class... Args>
  [[noreturn]] void refuse(const toml::source_region& region, fmt::format_string<Args...> format,
                           Args&&... args) const {
    fail<UsageError>(fmt::format("{}:{}:{}", path, region.begin.line, region.begin.column), "{}",
                     fmt::format(format, std::forward<Args>(args)...));
  }
};

bool lacks_a_key(std::string_view text) {
  try {
    (void)toml::parse(text);
  } catch (const NoKey&) {
    return true;
  } catch (const toml::parse_error&) {
  }
  return false;
}

toml::table parse_settings(const std::string& path, const std::string& text) {
  try {
    return toml::parse(text, path);
  } catch (const NoKey&) {
    fail<UsageError>(fmt::format("{}:{}", path, first_line_where(text, lacks_a_key)),
                     "this is not TOML: a section must be [COMMAND]");
  } catch (const toml::parse_error& e) {
    std::string reason(e.description());
    constexpr std::string_view prefix = "Error while parsing ";
    if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
    Source{path}.refuse(e.source(), "this is not TOML: {}", one_line(reason, 300));
  }
}

std::string shown(const toml::node& value) {
  switch (value.type()) {
    case toml::node_type::string: return quoted_name(value.ref<std::string>());
    case toml::node_type::integer: return fmt::format("the integer {}", value.ref<int64_t>());
    case toml::node_type::floating_point: return fmt::format("the number {:#}", value.ref<double>());
    case toml::node_type::boolean: return value.ref<bool>() ? "true" : "false";
    case toml::node_type::array: return "an array";
    case toml::node_type::table: return "a table";
    default: return "a date or time";
  }
}

// The settings of one table as arguments of the command.
class Arguments {
 public:
  Arguments(CLI::App& command, const Source& source, std::span<const std::string> typed)
      : command_(command), source_(source), known_(flag_names(command)), typed_(typed) {}

  // A later value of a key replaces an earlier one.
  void add(std::string_view key, const toml::source_region& at, const toml::node& value) {
    out_[std::string(key)].clear();
    const bool is_flag = std::find(known_.begin(), known_.end(), key) != known_.end();
    if (!is_flag || key == "config" || key == "help")
      source_.refuse(at, "unknown key {} for qkv {}{}", quoted_name(key), command_.get_name(),
                     did_you_mean(key, known_));
    CLI::Option& option = *command_.get_option(fmt::format("--{}", key));
    if (option.get_expected_max() == 0) {  // a flag without a value
      if (!value.is_boolean()) wrong_type(key, "true or false", value);
      push(key, value.ref<bool>() ? "true" : "false");
    } else if (const toml::array* list = value.as_array()) {
      add_list(key, *list, option);
    } else {
      push(key, text_of(key, value, value_type(option)));
    }
  }

  // Those that the command line does not replace.
  std::vector<std::string> take() const {
    std::vector<std::string> all;
    for (const auto& [key, arguments] : out_)
      if (!is_typed(key)) all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

 private:
  void add_list(std::string_view key, const toml::array& list, CLI::Option& option) {
    const ValueType type = value_type(option);
    if (type == ValueType::corpus) return add_corpora(key, list, option);
    std::vector<std::string> values;
    for (const toml::node& element : list) {
      if (element.is_array()) wrong_type(key, "a list of strings", element);
      values.push_back(text_of(key, element, type));
    }
    if (type == ValueType::variant) {
      push(key, name_list(values, "+"));
    } else if (is_list(option)) {
      for (const std::string& value : values) push(key, value);
    } else {
      source_.refuse(list.source(), "'{}' must be one value, got an array of {}", key, list.size());
    }
  }

  // ["a.de", "a.en"]: the two files of one corpus. [["a.de", "a.en"], "b.tsv"]: two corpora.
  void add_corpora(std::string_view key, const toml::array& list, CLI::Option& option) {
    const auto is_array = [](const toml::node& element) { return element.is_array(); };
    if (std::any_of(list.begin(), list.end(), is_array) && is_list(option)) {
      for (const toml::node& corpus : list)
        push(key, corpus.is_array() ? corpus_of(key, *corpus.as_array()) : text_of(key, corpus, ValueType::corpus));
    } else {
      push(key, corpus_of(key, list));
    }
  }

  std::string corpus_of(std::string_view key, const toml::array& files) const {
    if (files.empty() || files.size() > 2)
      source_.refuse(files.source(), "'{0}' must be a file, or an array of the two files of a corpus, got {1}; {2}",
                     key, files.size(),
                     "several corpora are an array of arrays: [[\"a.tsv\"], [\"b.de\", \"b.en\"]]");
    std::string spec;
    for (const toml::node& file : files) spec += (spec.empty() ? "" : ",") + text_of(key, file, ValueType::corpus);
    return spec;
  }

  std::string text_of(std::string_view key, const toml::node& value, ValueType type) const {
    switch (type) {
      case ValueType::integer:
        if (const auto* integer = value.as_integer()) return fmt::format("{}", integer->get());
        wrong_type(key, "an integer", value);
      case ValueType::number:
        if (const auto* integer = value.as_integer()) return fmt::format("{}", integer->get());
        if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
        wrong_type(key, "a number", value);
      case ValueType::text:
      case ValueType::corpus:
      case ValueType::variant: break;
    }
    if (const auto* text = value.as_string()) return text->get();
    wrong_type(key, "a string in quotation marks", value);
  }

  [[noreturn]] void wrong_type(std::string_view key, std::string_view expected, const toml::node& value) const {
    source_.refuse(value.source(), "'{}' must be {}, got {}", key, expected, shown(value));
  }

  bool is_typed(std::string_view key) const {
    const std::string name = fmt::format("--{}", key);
    return std::any_of(typed_.begin(), typed_.end(),
                       [&](const std::string& a) { return a == name || a.starts_with(name + "="); });
  }

  void push(std::string_view key, const std::string& value) {
    out_[std::string(key)].push_back(fmt::format("--{}={}", key, value));
  }

  CLI::App& command_;
  const Source& source_;
  const std::vector<std::string_view> known_;
  std::span<const std::string> typed_;
  std::map<std::string, std::vector<std::string>> out_;  // of each key
};

// Keys before the first section, and those of the command's own section.
std::vector<std::string> arguments_of(CLI::App& command, const std::string& path,
                                      std::span<const std::string> typed) {
  const std::string text = read_toml(path);
  const toml::table table = parse_settings(path, text);
  const Source source{path};
  const std::vector<std::string_view> sections = command_names(*command.get_parent());
  Arguments arguments(command, source, typed);
  const toml::table* own = nullptr;
  for (const auto& [key, value] : table) {
    const toml::table* section = value.as_table();
    if (!section) {
      arguments.add(key, key.source(), value);
    } else if (std::find(sections.begin(), sections.end(), key.str()) == sections.end()) {
      source.refuse(key.source(), "unknown section [{}]{}", one_line(key.str()), did_you_mean(key.str(), sections));
    } else if (key == command.get_name()) {
      own = section;
    }
  }
  if (own)
    for (const auto& [key, value] : *own) arguments.add(key, key.source(), value);
  return arguments.take();
}

}  // namespace

bool is_list(const CLI::Option& option) {
  return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

std::vector<std::string_view> flag_names(const CLI::App& command) {
  std::vector<std::string_view> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (!option->get_group().empty()) names.push_back(name);
  return names;
}

std::vector<std::string> with_settings(CLI::App& command, const std::vector<std::string>& typed) {
  std::vector<std::string> out;
  for (size_t i = 0; i < typed.size() && out.empty(); ++i) {  // given twice, it is refused later
    if (typed[i] == "--config" && i + 1 < typed.size()) out = arguments_of(command, typed[i + 1], typed);
    if (typed[i].starts_with("--config=")) out = arguments_of(command, typed[i].substr(9), typed);
  }
  out.insert(out.end(), typed.begin(), typed.end());
  return out;
}

}  // namespace qkv::cli
