#include "cli/help_formatter.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/arguments.h"

namespace qkv::cli {

std::vector<const CLI::Option*> flags_of_group(const CLI::App& command, const std::string& group) {
  return command.get_options(
      [&](const CLI::Option* option) { return option->nonpositional() && option->get_group() == group; });
}

std::vector<std::string> ordered_groups(const CLI::App& command) {
  std::vector<std::string> groups = command.get_groups();
  const auto has_none = [&](const std::string& group) {
    return group.empty() || flags_of_group(command, group).empty();
  };
  groups.erase(std::remove_if(groups.begin(), groups.end(), has_none), groups.end());
  const auto rank = [](const std::string& group) {
    return group == required_group ? 0 : group == general_group ? 2 : 1;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return groups;
}

std::string names_of_flag(const CLI::Option& option) {
  const std::string_view one_letter = short_name(option);
  std::string names = one_letter.empty() ? "" : fmt::format("-{}, ", one_letter);
  for (const std::string& name : option.get_snames()) names += fmt::format("-{}, ", name);
  return names + option.get_name();
}

// Names that would fill a line are in the description instead.
bool has_many_names(const CLI::Option& option) {
  return option.get_type_name().size() > 70 && option.get_type_name().find('|') != std::string::npos;
}

std::string value_of_flag(const CLI::Option& option) {
  const std::string given = option.get_default_str();
  if (option.get_expected_max() == 0) return given == "true" ? "=true" : "";
  const std::string unit = has_many_names(option) ? "NAME" : option.get_type_name();
  return (unit.empty() ? "" : " " + unit) + (given.empty() ? "" : "=" + given);
}

std::string description_of_flag(const CLI::Option& option) {
  if (!has_many_names(option)) return option.get_description();
  std::string names;
  for (const char c : option.get_type_name()) names += c == '|' ? std::string(", ") : std::string(1, c);
  return option.get_description() + "; one of " + names;
}

// "Usage: qkv train --model FOLDER [OPTIONS]", on several lines where one would be wide.
std::string HelpFormatter::make_usage(const CLI::App* command, std::string name) const {
  constexpr size_t width = 100;
  std::string line = "Usage: " + name, lines;
  const auto add = [&](const std::string& part) {
    if (line.size() + 1 + part.size() > width) {
      lines += line + "\n";
      line = "      ";
    }
    line += " " + part;
  };
  const bool is_program = command->get_parent() == nullptr;
  if (is_program) add("[OPTIONS] COMMAND");
  for (const CLI::Option* option : command->get_options())
    if (option->get_required()) add(fmt::format("{} {}", option->get_name(), option->get_type_name()));
  if (!is_program) add("[OPTIONS]");
  for (const CLI::Option* option : command->get_options())
    if (option->get_positional())
      add(fmt::format("[{}{}]", option->get_type_name(), option->get_expected_max() > 1 ? " ..." : ""));
  return lines + line + "\n";
}

std::string HelpFormatter::make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const {
  std::string out = make_description(command) + "\n" + make_usage(command, name) + make_positionals(command);
  for (const std::string& group : ordered_groups(*command))
    out += make_group(group, false, flags_of_group(*command, group));
  return out + make_subcommands(command, mode) + "\n" + make_footer(command);
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  if (!is_positional) return names_of_flag(*option);
  return option->get_type_name() + (option->get_expected_max() > 1 ? " ..." : "");
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_positional() ? "" : value_of_flag(*option);
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = description_of_flag(*option);
  const size_t width = 100 - get_column_width();
  for (size_t begin = 0; text.size() - begin > width;) {
    size_t space = text.rfind(' ', begin + width);
    if (space == text.npos || space <= begin) break;  // a word longer than a line
    text[space] = '\n';                               // CLI11 indents the next line
    begin = space + 1;
  }
  return text;
}

}  // namespace qkv::cli
