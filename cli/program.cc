#include "cli/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <system_error>

#include <CLI/CLI.hpp>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/foreign_names.h"
#include "cli/help_formatter.h"
#include "cli/man_page.h"
#include "cli/next_commands.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/usage_message.h"
#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/base/version.h"
#include "qkv/decode/overflow.h"

namespace qkv::cli {
namespace {

std::vector<Command> add_commands(App& program) {
  std::vector<Command> commands = {
      add_demo(program),       add_train(program),    add_translate(program), add_generate(program),
      add_chat(program),       add_embed(program),    add_fill_mask(program), add_score(program),
      add_perplexity(program), add_evaluate(program), add_inspect(program),   add_describe(program),
      add_explain(program),    add_compare(program),  add_convert(program),   add_shortlist(program),
      add_plot(program),       add_bench(program),    add_plan(program)};
  for (const Command& command : commands) {
    CLI::App& app = command.app->cli11();
    app.allow_extras();  // reported by refuse_extras(), with the nearest flag
    app.add_option("--config", "TOML file of settings, KEY = VALUE; flags on the command line win")
        ->type_name("FILE")
        ->group(general_group);
    app.get_help_ptr()->description("print this help")->group(general_group);
    for (CLI::Option* option : app.get_options())
      if (option->get_required()) option->group(required_group);
  }
  return commands;
}

std::string program_footer(const std::string& program) {
  return fmt::format(
      "Examples:\n"
      "  {0} demo\n"
      "  {0} train --train pairs.tsv --model my-model\n"
      "  {0} translate --model my-model \"I am cold.\"\n\n"
      "Help for a command, with examples: {0} help train",
      program);
}

const Command& command_named(const std::vector<Command>& commands, const std::string& name) {
  std::vector<std::string_view> names = {"help", "version"};
  for (const Command& command : commands) {
    if (command.app->get_name() == name) return command;
    names.push_back(command.app->get_name());
  }
  std::string answer = foreign_command(name);
  if (answer.empty()) answer = nearest(name, names) ? did_you_mean(name, names) : "; qkv --help lists them";
  fail<UsageError>("qkv", "unknown command '{}'{}", name, answer);
}

// "; did you mean --train pairs.tsv?": the flag that a file or folder without one was meant for; empty: none.
std::string meant_flag(const CLI::App& app, const std::string& given) {
  std::error_code error;
  const bool model = is_model_name(given);
  if (model || std::filesystem::is_regular_file(given, error))
    for (const char* name : {model ? "--model" : "--train", model ? "--model" : "--input"})
      if (const CLI::Option* option = app.get_option_no_throw(name); option && option->count() == 0)
        return fmt::format("; did you mean {} {}?", name, one_line(shell_word(given), 100));
  return app.get_name() == "chat" ? "; messages are lines of standard input" : "";
}

void refuse_extras(const CLI::App& app, const std::string& command_name) {
  std::vector<std::string> extras = app.remaining();
  std::erase(extras, "--");  // before arguments that begin with a dash
  for (const std::string& extra : extras) {
    if (!extra.starts_with('-') || extra == "-") continue;
    const std::string flag = extra.substr(0, extra.find('='));
    const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
    const std::vector<std::string_view> known = flag_names(app);
    const std::string ours = foreign_name(name, known);
    fail<UsageError>(command_name, "unknown flag {}{}", flag,
                     ours.empty() ? did_you_mean(name, known, "--") : ours);
  }
  if (extras.empty()) return;
  const std::vector<const CLI::Option*> positional =
      app.get_options([](const CLI::Option* option) { return option->get_positional(); });
  fail<UsageError>(
      command_name, "unexpected argument {}{}", quoted_name(extras.front()),
      positional.empty() ? meant_flag(app, extras.front()) : "; put quotation marks around several words");
}

// A flag is given once, unless it is a list: the first of two values would be lost silently.
void refuse_repeated(const CLI::App& app, const std::string& command_name) {
  for (const CLI::Option* option : app.get_options())
    if (!is_list(*option) && option->count() > 1)
      fail<UsageError>(command_name, "{} is given twice", option->get_name());
}

// Nothing, or the exit code when there is no more to do (help, version). Unknown flags are reported before missing
// ones, because the missing flag may be the unknown one, mistyped.
std::optional<int> parse(CLI::App& app, const CLI::App& command, std::vector<std::string> arguments) {
  const std::string command_name = &app == &command ? "qkv" : "qkv " + command.get_name();
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last to first
  try {
    app.parse(arguments);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& e) {
    refuse_extras(command, command_name);
    throw UsageError(command_name, usage_message(e, command).substr(command_name.size() + 2));
  }
  refuse_extras(command, command_name);
  refuse_repeated(command, command_name);
  return {};
}

}  // namespace

int run_program(const std::string& program, const std::vector<std::string>& arguments) {
  CLI::App app(
      "Attention and the Transformer: train, translate, generate, chat, embed, evaluate, look at attention.",
      program);
  const auto formatter = std::make_shared<HelpFormatter>();  // inherited by the commands
  formatter->label("Positionals", "Arguments");
  app.formatter(formatter);
  const std::string version_text = fmt::format("qkv {}", version());
  app.set_version_flag("-v,-V,--version", version_text, "print the version");
  app.get_help_ptr()->description("print this help; qkv help COMMAND: that of a command");
  std::string shell;
  app.add_option("--completion", shell, "print a completion script for bash, zsh or fish")->type_name("SHELL");
  bool man = false;
  app.add_flag("--man", man)->group("");  // hidden: for make install
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // see refuse_repeated()
  App flags(app);
  const std::vector<Command> commands = add_commands(flags);
  app.footer(program_footer(program));  // after add_commands(): not inherited

  if (arguments.empty() || arguments.front().starts_with('-')) {
    const size_t count = arguments.size() > 1 && arguments.front() == "--completion" ? 2 : !arguments.empty();
    const std::vector<std::string> first(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(count));
    if (const auto code = parse(app, app, first)) return *code;
    const std::string text = man             ? man_page(app, version_text)
                             : shell.empty() ? app.help()
                                             : completion_script(app, shell);
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  if (arguments.front() == "version" && arguments.size() == 1) {
    std::puts(version_text.c_str());
    return 0;
  }
  if (arguments.front() == "help") {
    const bool of_command = arguments.size() > 1;
    std::fputs((of_command ? command_named(commands, arguments[1]).app->cli11().help(program) : app.help()).c_str(),
               stdout);
    return 0;
  }
  const Command& chosen = command_named(commands, arguments.front());
  std::vector<std::string> all;
  try {
    const std::vector<std::string> typed(arguments.begin() + 1, arguments.end());
    all = with_settings(chosen.app->cli11(), normalized(chosen.app->cli11(), typed));
  } catch (const FileError& e) {
    say(fmt::format("qkv {}: --config: {}", chosen.app->get_name(), e.what()));
    return bad_input;
  }
  all.insert(all.begin(), arguments.front());
  if (const auto code = parse(app, chosen.app->cli11(), all)) return *code;
  try {
    return chosen.run();
  } catch (const UsageError& e) {
    say(usage_message(e, chosen.app->cli11()));
    return wrong_usage;
  } catch (const FileError& e) {
    if (e.code() == EPIPE) throw;
    say(file_message(e, chosen.app->cli11()));
    return bad_input;
  } catch (const std::bad_alloc&) {
    say(fmt::format("qkv {}: out of memory", chosen.app->get_name()));
    return bad_input;
  } catch (const Overflow&) {
    say(model_message(Overflow::reason, chosen.app->cli11()));
    return bad_input;
  }
}

}  // namespace qkv::cli
