// Settings of `qkv train` from a TOML file, as the program reads them, up to the start of the training.
#include "cli/settings.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "fuzz/input.h"
#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace {

using namespace qkv;

// Constructed once: a command line has dozens of flags.
struct Program {
  CLI::App app{"", "qkv"};
  cli::App flags{app};
  std::vector<cli::Command> commands;
  Program() {
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    commands = {cli::add_train(flags), cli::add_describe(flags)};
    commands[0].app->cli11().add_option("--config", "");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Program program;
  const fuzz::InputFile file(fuzz::as_text(data, size));
  fuzz::accepted([&] {
    std::vector<std::string> arguments =
        cli::with_settings(program.commands[0].app->cli11(), {"--config", file.path()});
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last to first
    arguments.push_back("train");
    try {
      program.app.parse(arguments);
    } catch (const CLI::ParseError& e) {
      fail<UsageError>("qkv train", "{}", one_line(e.what(), 1000));  // as main() does
    }
  });
  return 0;
}
