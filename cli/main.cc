// qkv: train a Transformer, translate with it, look at its attention. Data goes to stdout, messages to stderr.
// Exit codes: 0 done, 1 bad input, 2 wrong usage, 130 interrupted.

#include <algorithm>
#include <cstdio>
#include <new>
#include <optional>

#include "cli/command.h"
#include "cli/settings.h"
#include "qkv/base/names.h"
#include "qkv/base/version.h"

namespace qkv::cli {
namespace {

constexpr int bad_input = 1, wrong_usage = 2;

std::vector<Command> add_commands(CLI::App& app) {
  std::vector<Command> commands = {add_demo(app),     add_train(app),   add_translate(app), add_score(app),
                                   add_evaluate(app), add_inspect(app), add_describe(app)};
  for (const Command& command : commands) {
    command.app->allow_extras();  // reported below, with the nearest flag
    command.app->add_option("--config", "read settings from a TOML file; flags given here win")->type_name("FILE");
  }
  return commands;
}

// Nothing, or the exit code when there is no more to do (help, version). Arguments come last to first, as CLI11
// wants.
std::optional<int> parse(CLI::App& app, std::vector<std::string> reversed) {
  try {
    app.parse(reversed);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  }
  return {};
}

int run(const std::string& program, const std::vector<std::string>& arguments) {
  CLI::App app("Attention, and the Transformer built on it: train on sentence pairs, translate, see why.", program);
  app.set_version_flag("--version", fmt::format("qkv {}", version()));
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.footer("Each command has its own help: qkv train --help");
  app.option_defaults()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);  // settings first, then what is typed
  const std::vector<Command> commands = add_commands(app);

  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  const auto chosen =
      arguments.empty() ? commands.end() : std::find_if(commands.begin(), commands.end(), [&](const Command& c) {
        return c.app->get_name() == arguments.front();
      });
  if (chosen == commands.end()) {
    if (!arguments.empty() && !arguments.front().starts_with('-'))
      fail<UsageError>("qkv", "there is no command '{}'{}", arguments.front(),
                       did_you_mean(arguments.front(), names));
    if (const auto code = parse(app, {arguments.rbegin(), arguments.rend()})) return *code;
    if (!app.remaining().empty()) fail<UsageError>("qkv", "unknown flag '{}'", app.remaining().front());
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }

  std::vector<std::string> rest = with_settings(*chosen->app, {arguments.begin() + 1, arguments.end()});
  rest.insert(rest.begin(), chosen->app->get_name());
  std::reverse(rest.begin(), rest.end());
  if (const auto code = parse(app, rest)) return *code;
  const std::string who = "qkv " + chosen->app->get_name();
  for (const std::string& extra : chosen->app->remaining()) {
    const std::string name = extra.substr(std::min(extra.find_first_not_of('-'), extra.size()));
    require<UsageError>(!extra.starts_with('-'), who, "unknown flag '{}'{}", extra,
                        did_you_mean(name.substr(0, name.find('=')), flag_names(*chosen->app)));
    fail<UsageError>(who, "'{}' is one argument too many", extra);
  }
  return chosen->run();
}

}  // namespace
}  // namespace qkv::cli

int main(int argc, char** argv) {
  using namespace qkv;
  int code = 0;
  try {
    code = cli::run(argc > 0 ? argv[0] : "qkv", {argv + std::min(argc, 1), argv + argc});
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "qkv: {}\n", e.what());
    code = cli::wrong_usage;
  } catch (const UsageError& e) {
    fmt::print(stderr, "{}\n", e.what());
    code = cli::wrong_usage;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "qkv: out of memory\n");
    code = cli::bad_input;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    code = cli::bad_input;
  }
  if (std::fflush(stdout) != 0 && code == 0) {
    std::perror("qkv: standard output");
    code = cli::bad_input;
  }
  return code;
}
