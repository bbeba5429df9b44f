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
  std::string model, recipe = default_recipe;
  std::vector<CLI::Option*> flags;  // all but --recipe and --resume, in the order declared
  CLI::Option* recipe_option = nullptr;

  // The recipe, or a stored training, provides the defaults: the flags that were given are applied to it again.
  int run() {
    const std::optional<std::string> given = recipe_option->count() > 0 ? std::optional(recipe) : std::nullopt;
    options = base_options(model, options.resume, given);
    for (CLI::Option* f : flags)
      if (f->count() > 0) f->run_callback();
    const TrainResult result = train(options);
    return result.stop_reason == StopReason::interrupted ? 128 + result.signal : 0;
  }
};

}  // namespace

Command add_train(CLI::App& parent) {
  CLI::App& app = *parent.add_subcommand("train", "train a Transformer on sentence pairs");
  const auto command = std::make_shared<TrainCommand>();
  flag(app, "--model", command->model, "folder that the model is written to", "FOLDER")->required();
  command->recipe_option =
      recipe_flag(app, command->recipe, "architecture: transformer-tiny, -small, -base or -big; flags override it");
  TrainOptions& options = command->options;
  options.architecture = recipe(default_recipe);  // the defaults that the help shows
  AddFlags add{app, command->flags};
  option_table::visit_data(options, add);
  for (CLI::Option* f : architecture_flags(app, options.architecture)) command->flags.push_back(f);
  option_table::visit_update(options, add);
  option_table::visit_run(options, add);
  command->flags.push_back(quiet_flag(app, options.quiet));
  app.add_flag("--resume", options.resume, "resume the training in --model, or start one where there is none");
  command->flags.push_back(app.add_flag("--overwrite", options.overwrite,
                                        "start again; the model in --model is replaced once there is a new one"));
  app.footer(attention_mechanisms_help());
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
