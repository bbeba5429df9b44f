#include "qkv/train/train.h"

#include <exception>
#include <memory>
#include <optional>

#include "cli/architecture.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/next_commands.h"
#include "cli/output.h"
#include "qkv/base/rank_threads.h"
#include "qkv/base/threads.h"
#include "qkv/base/world.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/train/defaults.h"
#include "qkv/train/interrupt.h"
#include "qkv/train/option_table.h"

namespace qkv::cli {
namespace {

struct TrainCommand {
  TrainOptions options;
  ArchitectureSettings architecture;
  std::string model, recipe, program;
  std::vector<Option*> flags;  // all but --recipe and --resume, in the order declared
  Option* recipe_option = nullptr;

  // Under mpirun, one of several processes. Rank 0 decides when they end: a signal that the launcher sends to all of them
  // must not end another one.
  int run() {
    Communicator& ranks = world();
    std::optional<Interrupt> not_to_be_interrupted;
    if (ranks.rank() > 0) not_to_be_interrupted.emplace();
    try {
      const int code = run(ranks);
      leave_world();
      return code;
    } catch (const std::exception&) {
      if (ranks.size() > 1) say(fmt::format("process {} of {} fails:", ranks.rank(), ranks.size()));
      throw;
    }
  }

  // The corpus, or a stored training, provides the defaults: the flags that were given are applied to them again.
  int run(Communicator& ranks) {
    BaseOptions base = {.model = model, .train = options.train, .valid = options.valid, .resume = options.resume};
    if (recipe_option->count() > 0) base.recipe = recipe;
    base.architecture = architecture.architecture();
    base.init = options.init;
    base.max_time = options.max_time;
    const TrainOptions completed = options_for(base, [&](TrainOptions& defaults) {
      options = defaults;
      architecture = ArchitectureSettings(defaults.architecture);
      set_given_again(flags);
      options.architecture = architecture.config("train");
      defaults = options;
    });
    if (completed.threads == 0 && ranks.size() > 1) set_threads(rank_threads(ranks));
    const TrainResult result = train(completed, ranks);
    const bool speaks = !completed.quiet && ranks.rank() == 0;
    if (result.stop_reason == StopReason::interrupted) {
      if (speaks) say("  " + resume_command(program, completed.model));
      return 128 + result.signal;
    }
    if (speaks) {
      say("Try next:");
      for (const std::string& line : next_commands(program, completed)) say("  " + line);
    }
    return 0;
  }
};

}  // namespace

Command add_train(App& parent) {
  App& app = *parent.add_subcommand("train", "train a model: on sentence pairs, or a language model on text");
  const auto command = std::make_shared<TrainCommand>();
  command->program = parent.get_name();
  flag(app, "--model", command->model, "folder that the model is written to", "FOLDER")->required();
  command->recipe_option = recipe_flag(
      app, command->recipe,
      "sizes of the model: transformer-tiny, -small, -base or -big; bahdanau or luong, a recurrent model");
  command->recipe_option->group("Architecture");
  TrainOptions& options = command->options;
  options = default_options({});
  command->architecture = ArchitectureSettings(options.architecture);
  AddFlags add{app, command->flags};
  app.group("Data and vocabulary");
  option_table::visit_data(options, add);
  app.get_option("--train")->group("Required");  // but for --resume
  app.group("Architecture");
  for (Option* f : architecture_flags(app, command->architecture)) command->flags.push_back(f);
  app.group("Optimization");
  option_table::visit_update(options, add);
  app.get_option("--threads")->group("General");
  app.group("Length, validation and checkpoints");
  option_table::visit_run(options, add);
  command->flags.push_back(quiet_flag(app, options.quiet));
  app.add_flag("--resume", options.resume, "resume the training in --model, or start one if there is none");
  command->flags.push_back(app.add_flag("--overwrite", options.overwrite,
                                        "start again; the model in --model is replaced once there is a new one"));
  // The help shows no default for options that the size of the corpus decides.
  for (const std::string& name : options_by_corpus()) app.get_option("--" + name)->default_str("by corpus");
  command->recipe_option->default_str("by corpus");
  app.footer("by corpus: chosen by the size of the corpus, and printed at the start.\n\n" +
             attention_mechanisms_help() +
             "\n\nExamples:\n"
             "  qkv train --train pairs.tsv -m my-model\n"
             "  qkv train --train pairs.tsv --train more.en,more.de -m my-model\n"
             "  qkv train --train europarl.en,europarl.de --valid dev.tsv -m my-model --recipe transformer-base\n"
             "  qkv train --architecture causal --train books.txt -m stories\n"
             "  qkv train --init my-model --train my-terms.tsv -m fine-tuned\n"
             "  mpirun -n 4 qkv train --train pairs.tsv -m my-model --pieces 4 --accumulate 4");
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
