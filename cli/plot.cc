#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/picture/training_curves.h"

namespace qkv::cli {
namespace {

struct PlotCommand {
  std::vector<std::string> runs;
  std::string output = "curves.html";
  bool quiet = false;

  int run() const {
    require<UsageError>(!runs.empty(), "qkv plot", "RUN is required: the folder of a training, or several");
    training_curves({runs.begin(), runs.end()}).save(output);
    if (!quiet) say("curves: " + output);
    return 0;
  }
};

}  // namespace

Command add_plot(App& parent) {
  App& app = *parent.add_subcommand("plot", "draw the curves of trainings: losses, BLEU, learning rate");
  const auto c = std::make_shared<PlotCommand>();
  app.add_value("runs", c->runs, "folders of models, or their training/log.jsonl; several are drawn together")
      ->type_name("RUN")
      ->any_number();
  app.group("Output");
  flag(app, "--output", c->output, "picture as .html or .svg, which follow the light or dark setting, or .png",
       "FILE");
  quiet_flag(app, c->quiet);
  app.footer(
      "Examples:\n"
      "  qkv plot my-model\n"
      "  qkv plot small large --output curves.svg");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
