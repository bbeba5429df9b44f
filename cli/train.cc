#include "qkv/train/train.h"

#include <memory>
#include <optional>

#include "cli/architecture.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "qkv/train/option_table.h"

namespace qkv::cli {
namespace {

struct TrainCommand {
  TrainOptions options;
  std::string model, recipe = "transformer-base";  // what base_options() takes, too
  std::vector<CLI::Option*> flags;                 // all but --recipe and --resume, in the order declared
  CLI::Option* recipe_flag = nullptr;

  // The recipe, or a stored training, is what the other flags start from: those that were given are read once more.
  int run() {
    const std::optional<std::string> given = recipe_flag->count() > 0 ? std::optional(recipe) : std::nullopt;
    options = base_options(model, options.resume, given);
    for (CLI::Option* f : flags)
      if (f->count() > 0) f->run_callback();
    const TrainResult result = train(options);
    return result.stop_reason == StopReason::interrupted ? 130 : 0;
  }
};

}  // namespace

Command add_train(CLI::App& parent) {
  CLI::App& app = *parent.add_subcommand("train", "train a Transformer on sentence pairs");
  const auto command = std::make_shared<TrainCommand>();
  flag(app, "--model", command->model, "the model folder", "FOLDER")->required();
  command->recipe_flag =
      flag(app, "--recipe", command->recipe,
           "transformer-tiny, -small, -base or -big: the shape that the next flags change", "NAME");
  TrainOptions& options = command->options;
  AddFlags add{app, command->flags};
  option_table::visit_data(options, add);
  for (CLI::Option* f : architecture_flags(app, options.architecture)) command->flags.push_back(f);
  option_table::visit_update(options, add);
  option_table::visit_run(options, add);
  command->flags.push_back(app.add_flag("--quiet", options.quiet, "say nothing but warnings"));
  app.add_flag("--resume", options.resume, "go on with the training in --model, or begin where there is none");
  command->flags.push_back(app.add_flag("--overwrite", options.overwrite,
                                        "begin anew, and replace the model in the folder once there is a new one"));
  app.footer(attention_mechanisms_help());
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
