#include "cli/completion.h"

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/arguments.h"
#include "cli/settings.h"
#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/layer/mechanism/mechanism.h"
#include "qkv/model/config.h"

namespace qkv::cli {
namespace {

constexpr std::string_view shells = "bash zsh fish", program_flags = "--help --version --completion";

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

std::string mechanism_names() {
  std::string names = "full";
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms())
    names += fmt::format(" {}", mechanism->facts().name);
  return names;
}

// "unigram bpe character" of unigram|bpe|character; nothing for a unit such as FILE, whose values are files.
std::string values_of(const CLI::Option& option) {
  std::string unit = option.get_type_name();
  if (unit == "RECIPE") return name_list(recipe_names(), " ");
  if (unit == "VARIANT") return mechanism_names();
  if (unit.find('|') == unit.npos) return "";
  std::replace(unit.begin(), unit.end(), '|', ' ');
  return unit;
}

// What may follow "qkv COMMAND" and what the flag before, in branches of a case of bash and zsh; each sets `choices`.
struct Branches {
  std::string commands, flags, values;
};

Branches branches_of(const CLI::App& program) {
  Branches out;
  for (const CLI::App* command : commands_of(program)) {
    const std::string& name = command->get_name();
    out.commands += (out.commands.empty() ? "" : " ") + name;
    out.flags += fmt::format("    {}) choices='--{}' ;;\n", name, name_list(flag_names(*command), " --"));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty() || option->get_expected_max() == 0) continue;
      const std::string_view letter = short_name(*option);
      const std::string also = letter.empty() ? "" : fmt::format("|{}:-{}", name, letter);
      out.values += fmt::format("    {}:--{}{}) choices='{}' ;;\n", name, option->get_lnames().front(), also,
                                values_of(*option));
    }
  }
  out.values += fmt::format("    help:help) choices='{}' ;;\n", out.commands);
  out.values += fmt::format("    --completion:--completion) choices='{}' ;;\n", shells);
  return out;
}

std::string bash_script(const CLI::App& program) {
  const Branches branches = branches_of(program);
  return fmt::format(R"(_qkv() {{
  local choices='' command=${{COMP_WORDS[1]}} current=${{COMP_WORDS[COMP_CWORD]}}
  case $command in
{}  esac
  ((COMP_CWORD > 1)) || choices='{} help version {}'
  case $command:${{COMP_WORDS[COMP_CWORD - 1]}} in
{}  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
}}
complete -o default -F _qkv qkv
)",
                     branches.flags, branches.commands, program_flags, branches.values);
}

// As a file _qkv in fpath it is the body of the function on its first call, hence the last line but one.
std::string zsh_script(const CLI::App& program) {
  const Branches branches = branches_of(program);
  return fmt::format(R"(#compdef qkv
_qkv() {{
  local choices='' command=$words[2]
  case $command in
{}  esac
  ((CURRENT > 2)) || choices='{} help version {}'
  case $command:$words[CURRENT-1] in
{}  esac
  if [[ -n $choices ]]; then compadd -- ${{=choices}}; else _files; fi
}}
if [[ ${{funcstack[1]}} == _qkv ]]; then _qkv "$@"
elif (( $+functions[compdef] )); then compdef _qkv qkv; fi
)",
                     branches.flags, branches.commands, program_flags, branches.values);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_script(const CLI::App& program) {
  std::string out, names;
  for (const CLI::App* command : commands_of(program)) {
    const std::string& name = command->get_name();
    names += name + " ";
    out += fmt::format("complete -c qkv -n __fish_use_subcommand -f -a {} -d {}\n", name,
                       quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      const std::string choices = values_of(*option);
      const std::string_view letter = short_name(*option);
      out += fmt::format("complete -c qkv -n '__fish_seen_subcommand_from {}' -l {}{}{}{} -d {}\n", name,
                         option->get_lnames().front(), letter.empty() ? "" : fmt::format(" -s {}", letter),
                         option->get_expected_max() == 0 ? "" : " -r",
                         choices.empty() ? "" : fmt::format(" -f -a '{}'", choices),
                         quoted(option->get_description()));
    }
  }
  out += "complete -c qkv -n __fish_use_subcommand -f -a 'help version'\n";
  out += fmt::format("complete -c qkv -n '__fish_seen_subcommand_from help' -f -a '{}'\n", names);
  out += fmt::format("complete -c qkv -n __fish_use_subcommand -l completion -r -f -a '{}'\n", shells);
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  fail<UsageError>("qkv", "--completion must be bash, zsh or fish, got '{}'{}", shell,
                   did_you_mean(shell, std::vector<std::string_view>{"bash", "zsh", "fish"}));
}

}  // namespace qkv::cli
