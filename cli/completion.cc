#include "cli/completion.h"

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/settings.h"
#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

// "unigram bpe character" of unigram|bpe|character; nothing for a unit such as FILE.
std::string choices_of(const CLI::Option& option) {
  std::string unit = option.get_type_name();
  if (unit.find('|') == unit.npos) return "";
  std::replace(unit.begin(), unit.end(), '|', ' ');
  return unit;
}

// For zsh too, by its bashcompinit.
std::string bash_script(const CLI::App& program) {
  std::vector<std::string> names;
  std::string flags, values;
  for (const CLI::App* command : commands_of(program)) {
    const std::string& name = names.emplace_back(command->get_name());
    flags += fmt::format("    {}) words='--{}' ;;\n", name, name_list(flag_names(*command), " --"));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty() || option->get_expected_max() == 0) continue;
      values +=
          fmt::format("    {}:--{}) words='{}' ;;\n", name, option->get_lnames().front(), choices_of(*option));
    }
  }
  return fmt::format(R"(_qkv() {{
  local words='' command=${{COMP_WORDS[1]}} current=${{COMP_WORDS[COMP_CWORD]}}
  case $command in
{}  esac
  ((COMP_CWORD > 1)) || words='{} --help --version --completion'
  case $command:${{COMP_WORDS[COMP_CWORD - 1]}} in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _qkv qkv
)",
                     flags, name_list(names, " "), values);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_script(const CLI::App& program) {
  std::string out;
  for (const CLI::App* command : commands_of(program)) {
    const std::string& name = command->get_name();
    out += fmt::format("complete -c qkv -n __fish_use_subcommand -a {} -d {}\n", name,
                       quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      const std::string choices = choices_of(*option);
      out += fmt::format("complete -c qkv -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n", name,
                         option->get_lnames().front(), option->get_expected_max() == 0 ? "" : " -r",
                         choices.empty() ? "" : fmt::format(" -f -a '{}'", choices),
                         quoted(option->get_description()));
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(program);
  if (shell == "fish") return fish_script(program);
  fail<UsageError>("qkv", "--completion must be bash, zsh or fish, got '{}'", shell);
}

}  // namespace qkv::cli
