#include "cli/man_page.h"

#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/help_formatter.h"

namespace qkv::cli {
namespace {

// Text of a line: no character is read as markup, and a dash can be searched for.
std::string plain(const std::string& text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return out;
}

std::string preformatted(const std::string& text) {
  std::string out = ".PP\n.nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += plain(line) + "\n";
  return out + ".fi\n";
}

std::string flag_entry(const CLI::Option& option) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", plain(names_of_flag(option)), plain(value_of_flag(option)),
                     plain(description_of_flag(option)));
}

std::string flags_of(const CLI::App& app) {
  std::string out;
  for (const std::string& group : ordered_groups(app)) {
    out += fmt::format(".PP\n\\fI{}\\fR\n", plain(group));
    for (const CLI::Option* option : flags_of_group(app, group)) out += flag_entry(*option);
  }
  return out;
}

std::string arguments_of_command(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional())
      out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", plain(option->get_type_name()), plain(option->get_description()));
  return out;
}

}  // namespace

std::string man_page(const CLI::App& program, const std::string& version) {
  std::string out = fmt::format(
      ".TH QKV 1 \"\" \"{}\" \"User Commands\"\n"
      ".SH NAME\nqkv \\- attention and the Transformer: train, translate, generate, look at attention\n"
      ".SH SYNOPSIS\n\\fBqkv\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n{}\n"
      "Data goes to standard output, messages to standard error. Every flag is also a key of a TOML file, which\n"
      "\\fB\\-\\-config\\fR reads. A flag that is on or off is turned off by \\fB\\-\\-no\\-NAME\\fR or "
      "\\fB=false\\fR.\n"
      ".SH OPTIONS\n{}.SH COMMANDS\n",
      version, plain(program.get_description()), flags_of(program));
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    out += fmt::format(".SS {}\n{}\n{}{}", command->get_name(), plain(command->get_description()),
                       arguments_of_command(*command), flags_of(*command));
    out += preformatted(command->get_footer());
  }
  return out +
         ".SH EXIT STATUS\n"
         ".TP\n0\ndone\n"
         ".TP\n1\nbad input\n"
         ".TP\n2\nwrong usage\n"
         ".TP\n128 + N\ninterrupted by signal N; 141: standard output was closed by its reader\n";
}

}  // namespace qkv::cli
