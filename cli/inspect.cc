#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/inspection.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/base/threads.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct InspectCommand {
  std::string model, sentence, target, output = "attention.html";
  InferenceOptions held;
  int64_t beam = TranslateOptions().beam;
  Option* beam_flag = nullptr;
  bool quiet = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    require<UsageError>(!sentence.empty(), "qkv inspect",
                        "SENTENCE is required: qkv inspect --model FOLDER \"a sentence\"");
    const TransformerConfig config = open_config("inspect", model);
    const Inspection inspection = inspection_of(config.architecture);
    picture_of(inspection, sentence).save(output);
    fmt::print("{}\n", escape_controls(inspection.text, "\t"));
    if (inspection.truncated)
      say(fmt::format("the sentence is longer than the model's {} tokens; the rest was not read",
                      config.default_context()));
    if (!quiet) say("attention weights of all layers and heads: " + output);
    return 0;
  }

 private:
  Inspection inspection_of(Architecture architecture) const {
    if (is_language_model(architecture))
      require<UsageError>(target.empty() && beam_flag->count() == 0, "qkv inspect",
                          "--target and --beam are for models that translate; this one is {}",
                          name_of(architecture));
    if (architecture == Architecture::causal) return inspect(open_generator("inspect", model, held), sentence);
    if (architecture == Architecture::masked) return inspect(open_mask_filler("inspect", model, held), sentence);
    const Translator translator = open_translator("inspect", model, held);
    InspectOptions options = {.translate = translator.defaults()};
    if (beam_flag->count() > 0) options.translate->beam = beam;
    if (!target.empty()) options.target = target;
    return inspect(translator, sentence, options);
  }
};

}  // namespace

Command add_inspect(App& parent) {
  App& app = *parent.add_subcommand("inspect",
                                    "draw the attention of every layer and head to a sentence and its translation");
  const auto c = std::make_shared<InspectCommand>();
  model_flag(app, c->model)->required();
  weights_flag(app, c->held);
  flag(app, "sentence", c->sentence,
       "source sentence; for a language model, a text, where [MASK] stands for a masked token", "SENTENCE");
  flag(app, "--target", c->target, "target sentence to inspect instead of the model's translation", "SENTENCE");
  flag(app, "--output", c->output, "attention weights as .html (interactive), .svg (static) or .json (numbers)",
       "FILE");
  c->beam_flag = flag(app, "--beam", c->beam, "beam size; 1: greedy search", "N");
  quiet_flag(app, c->quiet);
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
