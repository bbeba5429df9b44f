#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/inspection.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "cli/search_defaults.h"
#include "qkv/base/threads.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct InspectCommand {
  std::string model, sentence, target, output = "attention.html";
  TranslateOptions options;
  SearchDefaults defaults;
  Option* beam = nullptr;
  bool quiet = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    require<UsageError>(!sentence.empty(), "qkv inspect",
                        "SENTENCE is required: qkv inspect --model FOLDER \"a sentence\"");
    check_options(options);
    const TransformerConfig config = open_config("inspect", model);
    if (!is_language_model(config.architecture)) defaults.take(model, options);
    const Inspection inspection = inspection_of(config.architecture);
    picture_of(inspection, sentence).save(output);
    fmt::print("{}\n", escape_controls(inspection.text, "\t"));
    if (inspection.truncated)
      say(fmt::format("the sentence is longer than {} tokens, which the model is made for; the rest was not read",
                      config.default_context()));
    if (!quiet) say("attention weights of all layers and heads: " + output);
    return 0;
  }

 private:
  Inspection inspection_of(Architecture architecture) const {
    if (is_language_model(architecture))
      require<UsageError>(target.empty() && beam->count() == 0, "qkv inspect",
                          "--target and --beam are for models that translate; this one is {}",
                          name_of(architecture));
    if (architecture == Architecture::causal) return inspect(open_generator("inspect", model), sentence);
    if (architecture == Architecture::masked) return inspect(open_mask_filler("inspect", model), sentence);
    InspectOptions how = {.translate = options};
    if (!target.empty()) how.target = target;
    return inspect(open_translator("inspect", model), sentence, how);
  }
};

}  // namespace

Command add_inspect(App& parent) {
  App& app = *parent.add_subcommand("inspect",
                                    "draw the attention of every layer and head to a sentence and its translation");
  const auto c = std::make_shared<InspectCommand>();
  model_flag(app, c->model)->required();
  flag(app, "sentence", c->sentence,
       "source sentence; for a language model a text, [MASK] standing for a masked token", "SENTENCE");
  flag(app, "--target", c->target, "target sentence to inspect instead of the model's translation", "SENTENCE");
  flag(app, "--output", c->output, "attention weights as .html (interactive), .svg (static) or .json (numbers)",
       "FILE");
  c->beam = flag(app, "--beam", c->options.beam, "beam size; 1: greedy search", "N");
  c->defaults.add(c->beam, c->options.beam);
  quiet_flag(app, c->quiet);
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
