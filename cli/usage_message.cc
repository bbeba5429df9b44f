#include "cli/usage_message.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/next_commands.h"
#include "cli/settings.h"
#include "qkv/base/names.h"

namespace qkv::cli {
namespace {

bool is_name_character(char c) { return c == '-' || c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// An operation of the library, not a file.
bool is_operation(std::string_view op) {
  return std::all_of(op.begin(), op.end(), [](char c) { return c == ':' || c == '_' || std::isalpha(c) != 0; });
}

std::string with_flags(std::string_view message, const std::vector<std::string_view>& flags) {
  std::string out;
  for (size_t at = 0; at < message.size();) {
    const auto end_of_name = [&](size_t i) {
      while (i < message.size() && is_name_character(message[i])) ++i;
      return i;
    };
    const size_t end = end_of_name(at);
    if (end == at) {
      out += message[at++];
      continue;
    }
    const std::string_view word = message.substr(at, end - at), rest = message.substr(end);
    const bool known = std::find(flags.begin(), flags.end(), word) != flags.end();
    const bool begins = at == 0 || message[at - 1] == ' ' || message[at - 1] == '(';
    const bool quoted = at > 0 && message[at - 1] == '\'' && rest.starts_with('\'');
    const bool ends = rest.empty() || rest[0] == ' ' || rest[0] == ',' || rest[0] == ':' || rest[0] == ';';
    const bool has_dash = word.find('-') != word.npos;
    const bool before_number = rest.size() > 1 && rest[0] == ' ' && rest[1] >= '0' && rest[1] <= '9';
    if (known && quoted) {
      out.back() = '-';  // the quotation mark
      (out += '-') += word;
      at = end + 1;
      continue;
    }
    if (known && begins && ends && (at == 0 || has_dash || before_number)) out += "--";
    out += word;
    at = end;
  }
  return out;
}

// The flag with that value, with a folder that it is in, or with two files one of which it is; empty if there is none.
std::string flag_of(std::string_view value, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    for (const std::string& given : option->results())
      if (given == value || given.starts_with(fmt::format("{},", value)) ||
          given.ends_with(fmt::format(",{}", value)) || (!given.empty() && value.starts_with(given + "/")))
        return option->get_name();
  return "";
}

// Of "qkv generate my-model", whose arguments are texts.
std::string meant_model(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && !option->results().empty() && is_model_name(option->results().front()))
      return fmt::format("; did you mean --model {}?", one_line(shell_word(option->results().front()), 100));
  return "";
}

}  // namespace

bool is_model_name(const std::string& given) {
  std::error_code error;
  return given.ends_with(".gguf") || std::filesystem::is_directory(given, error);
}

std::string file_message(const FileError& error, const CLI::App& command) {
  const std::string flag = flag_of(error.file(), command);
  return flag.empty() ? error.what() : fmt::format("qkv {}: {}: {}", command.get_name(), flag, error.what());
}

std::string model_message(std::string_view what, const CLI::App& command) {
  const CLI::Option* model = command.get_option_no_throw("--model");
  const std::string named =
      model && model->count() > 0 ? fmt::format("--model {}: ", one_line(model->results().back(), 1000)) : "";
  return fmt::format("qkv {}: {}{}", command.get_name(), named, what);
}

std::string usage_message(const UsageError& error, const CLI::App& command) {
  const std::string_view whole = error.what();
  if (whole.starts_with("qkv ")) return std::string(whole);
  const std::vector<std::string_view> flags = flag_names(command);
  const std::string command_name = fmt::format("qkv {}: ", command.get_name());
  if (const std::string flag = flag_of(error.op(), command); flag.starts_with("--"))
    return fmt::format("{}{} {}", command_name, flag, whole);
  if (!is_operation(error.op())) return command_name + with_flags(whole, flags);
  return command_name + with_flags(whole.substr(std::min(whole.size(), error.op().size() + 2)), flags);
}

std::string usage_message(const CLI::ParseError& error, const CLI::App& command) {
  const std::string command_name = command.get_parent() ? "qkv " + command.get_name() : "qkv";
  const std::string text = error.what();
  const CLI::Option* option = command.get_option_no_throw(text.substr(0, text.find_first_of(": ")));
  if (!option) return command_name + ": " + one_line(text, 1000);
  const std::string name = option->get_name(), unit = option->get_type_name();
  if (dynamic_cast<const CLI::RequiredError*>(&error))
    return fmt::format("{}: {} is required: {}, {}{}", command_name, name, unit, option->get_description(),
                       name == "--model" ? meant_model(command) : "");
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error))
    return option->get_expected_max() == 0
               ? fmt::format("{}: {} takes no value", command_name, name)
               : fmt::format("{}: {} needs a value: {} {}", command_name, name, name, unit);
  if (dynamic_cast<const CLI::ValidationError*>(&error) && text.starts_with(name + ": "))
    return fmt::format("{}: {} {}", command_name, name, one_line(text.substr(name.size() + 2), 1000));
  return command_name + ": " + one_line(text, 1000);
}

}  // namespace qkv::cli
