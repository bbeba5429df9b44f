// qkv: train a Transformer, translate with it, look at its attention. Data goes to stdout, messages to stderr.
// Exit codes: 0 done, 1 bad input, 2 wrong usage, 130 interrupted, 141 nobody reads the output any more: by the
// signal SIGPIPE as any filter, or without a word where that is ignored.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <optional>
#include <system_error>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/base/version.h"

namespace qkv::cli {
namespace {

constexpr int bad_input = 1, wrong_usage = 2, closed_pipe = 141;

// A standard stream that the caller closed must not become the number of a file that is opened later. Opened the
// wrong way round, it is still an error to read or to write it.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

std::vector<Command> add_commands(CLI::App& app) {
  std::vector<Command> commands = {add_demo(app),     add_train(app),   add_translate(app), add_score(app),
                                   add_evaluate(app), add_inspect(app), add_describe(app)};
  for (const Command& command : commands) {
    command.app->allow_extras();  // reported below, with the nearest flag
    command.app->add_option("--config", "read settings from a TOML file; flags given here win")->type_name("FILE");
  }
  return commands;
}

const Command& command_named(const std::vector<Command>& commands, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) {
    if (command.app->get_name() == name) return command;
    names.push_back(command.app->get_name());
  }
  fail<UsageError>("qkv", "there is no command '{}'{}", name,
                   nearest(name, names) ? did_you_mean(name, names) : "; qkv --help lists them");
}

// What no flag or argument of the command took.
void refuse_extras(const CLI::App& app, const std::string& who) {
  const std::vector<std::string> extras = app.remaining();
  for (const std::string& extra : extras) {
    if (!extra.starts_with('-') || extra == "-") continue;
    const std::string flag = extra.substr(0, extra.find('='));
    const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
    fail<UsageError>(who, "unknown flag {}{}", flag, did_you_mean(name, flag_names(app), "--"));
  }
  if (!extras.empty()) fail<UsageError>(who, "'{}' is one argument too many", extras.front());
}

// Nothing, or the exit code when there is no more to do (help, version). A flag that is unknown is told before one
// that is missing: the one may be the other, mistyped.
std::optional<int> parse(CLI::App& app, const CLI::App& command, std::vector<std::string> arguments) {
  const std::string who = &app == &command ? "qkv" : "qkv " + command.get_name();
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last to first
  try {
    app.parse(arguments);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& e) {
    refuse_extras(command, who);
    fail<UsageError>(who, "{}", one_line(e.what(), 1000));  // it repeats what was given
  }
  refuse_extras(command, who);
  return {};
}

int run(const std::string& program, const std::vector<std::string>& arguments) {
  CLI::App app("Attention, and the Transformer built on it: train on sentence pairs, translate, see why.", program);
  app.set_version_flag("--version", fmt::format("qkv {}", version()));
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.option_defaults()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);  // settings first, then what is typed
  const std::vector<Command> commands = add_commands(app);
  app.footer(fmt::format("Each command has its own help: {} train --help", program));  // commands do not inherit it

  if (arguments.empty() || arguments.front().starts_with('-')) {
    std::vector<std::string> first(arguments.begin(), arguments.begin() + !arguments.empty());
    if (const auto code = parse(app, app, first)) return *code;
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  const Command& chosen = command_named(commands, arguments.front());
  std::vector<std::string> all = with_settings(*chosen.app, {arguments.begin() + 1, arguments.end()});
  all.insert(all.begin(), arguments.front());
  if (const auto code = parse(app, *chosen.app, all)) return *code;
  return chosen.run();
}

}  // namespace
}  // namespace qkv::cli

int main(int argc, char** argv) {
  using namespace qkv;
  cli::occupy_standard_streams();
  const auto run = [&] {
    const int code = cli::run(argc > 0 ? argv[0] : "qkv", {argv + std::min(argc, 1), argv + argc});
    if (std::fflush(stdout) != 0) throw FileError("write", "standard output", errno);
    return code;
  };
  try {
    return run();
  } catch (const UsageError& e) {
    cli::say(e.what());
    return cli::wrong_usage;
  } catch (const FileError& e) {
    if (e.code() == EPIPE) return cli::closed_pipe;
    cli::say(e.what());
  } catch (const std::system_error& e) {
    if (e.code().value() == EPIPE) return cli::closed_pipe;
    const bool no_thread = e.code() == std::errc::resource_unavailable_try_again;
    cli::say(fmt::format("qkv: {}{}", no_thread ? "no thread can be begun: " : "", e.what()));
  } catch (const std::bad_alloc&) {
    cli::say("qkv: out of memory");
  } catch (const std::exception& e) {
    cli::say(e.what());
  }
  return cli::bad_input;
}
