#include "cli/settings.h"

#include <algorithm>
#include <sstream>

#include "qkv/base/file.h"
#include "qkv/base/names.h"

namespace qkv::cli {
namespace {

std::vector<std::string_view> command_names(const CLI::App& program) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// CLI11 takes memory by the square of a section's depth, and time by the square of a list's length.
std::string read_settings(const std::string& path) {
  constexpr size_t most_bytes = 64 << 10, longest_section = 200;
  std::string text = read_file(path, most_bytes);
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t begin = line.find_first_not_of(" \t\r");
    const bool is_section = begin != line.npos && line[begin] == '[';
    require<UsageError>(!is_section || line.size() <= longest_section, path,
                        "line {}: a section of {} bytes, expected at most {}", number, line.size(),
                        longest_section);
  }
  return text;
}

void append_file(const CLI::App& command, const std::string& path, std::vector<std::string>& out) {
  std::istringstream text(read_settings(path));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(text);
  } catch (const CLI::Error& e) {
    fail<UsageError>(path, "this is not a TOML file: {}", one_line(e.what()));
  }
  const std::vector<std::string_view> known = flag_names(command), sections = command_names(*command.get_parent());
  for (const CLI::ConfigItem& item : items) {
    if (item.name == "++" || item.name == "--") continue;  // the parser's marks of a section's begin and end
    const std::string section = item.parents.empty() ? command.get_name() : item.parents.front();
    if (section != command.get_name() && section != "default") {
      if (std::find(sections.begin(), sections.end(), section) == sections.end())
        fail<UsageError>(path, "unknown section [{}]{}", one_line(section), did_you_mean(section, sections));
      continue;
    }
    const bool is_flag = std::find(known.begin(), known.end(), item.name) != known.end();
    if (!is_flag || item.name == "config" || item.name == "help")
      fail<UsageError>(path, "unknown key {} for qkv {}{}", quoted_name(item.name), command.get_name(),
                       did_you_mean(item.name, known));
    const CLI::Option* option = command.get_option("--" + item.name);
    if (option->get_expected_max() == 0) {  // a switch
      const std::string value = item.inputs.empty() ? "" : item.inputs.front();
      require<UsageError>(value == "true" || value == "false", path, "'{}' must be true or false, got {}",
                          item.name, quoted_name(value));
      if (value == "true") out.push_back("--" + item.name);
      continue;
    }
    for (const std::string& value : item.inputs) out.push_back("--" + item.name + "=" + value);
  }
}

}  // namespace

std::vector<std::string_view> flag_names(const CLI::App& command) {
  std::vector<std::string_view> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  return names;
}

std::vector<std::string> with_settings(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--config" && i + 1 < arguments.size()) append_file(command, arguments[i + 1], out);
    if (a.starts_with("--config=")) append_file(command, a.substr(9), out);
  }
  out.insert(out.end(), arguments.begin(), arguments.end());
  return out;
}

}  // namespace qkv::cli
