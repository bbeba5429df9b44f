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

void append_file(const CLI::App& command, const std::string& path, std::vector<std::string>& out) {
  std::istringstream text(read_file(path));
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
      require<UsageError>(std::find(sections.begin(), sections.end(), section) != sections.end(), path,
                          "unknown section [{}]{}", one_line(section), did_you_mean(section, sections));
      continue;
    }
    const bool is_flag = std::find(known.begin(), known.end(), item.name) != known.end();
    require<UsageError>(is_flag && item.name != "config" && item.name != "help", path,
                        "unknown key {} for qkv {}{}", quoted_name(item.name), command.get_name(),
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
