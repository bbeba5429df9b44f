#include "qkv/train/train.h"

#include <memory>

#include "cli/architecture.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "qkv/base/threads.h"
#include "qkv/train/option_table.h"

namespace qkv::cli {
namespace {

struct TrainCommand {
  TrainOptions options;
  std::string model, recipe = "transformer-base";
  std::vector<CLI::Option*> flags;  // all but --recipe and --resume, in the order declared
  CLI::Option* recipe_flag = nullptr;

  // The recipe, or a stored training, is what the other flags start from: those that were given are read once more.
  int run() {
    const bool resume = options.resume;
    if (resume) {
      require<UsageError>(recipe_flag->count() == 0, "qkv train",
                          "--recipe cannot be given with --resume: the model has its shape");
      options = stored_options(model);
    } else {
      options.architecture = qkv::recipe(recipe);
    }
    for (CLI::Option* f : flags)
      if (f->count() > 0) f->run_callback();
    options.resume = resume;
    options.model = model;
    if (options.threads > 0) set_threads(options.threads);
    const TrainResult result = train(options);
    return result.ending == Ending::interrupted ? 130 : 0;
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
  app.add_flag("--resume", options.resume, "go on with the training in --model");
  command->flags.push_back(
      app.add_flag("--overwrite", options.overwrite, "begin anew in a folder that has a model"));
  app.footer(attention_words_help());
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
