#include <algorithm>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/inspection.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/base/progress.h"
#include "qkv/base/threads.h"
#include "qkv/picture/text_view.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct InspectCommand {
  std::string model, sentence, target, output = "attention.html";
  InferenceOptions held;
  bool text = false;
  int64_t layer = 0, head = 0;
  std::optional<AttentionUse> use = {};
  Option *output_flag = nullptr, *layer_flag = nullptr, *head_flag = nullptr;
  int64_t beam = TranslateOptions().search.beam;
  Option* beam_flag = nullptr;
  int64_t max_input_tokens = 0;
  bool quiet = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    require<UsageError>(!sentence.empty(), "qkv inspect",
                        "SENTENCE is required: qkv inspect --model FOLDER \"a sentence\"");
    check_flags();
    const ModelConfig config = open_config("inspect", model);
    const Inspection inspection = inspection_of(config.architecture());
    const Picture picture = picture_of(inspection, sentence, use);
    const std::string in_terminal = text ? "\n" + text_view(picture, view()) : "";
    const bool saved = !text || output_flag->count() > 0;
    if (saved) picture.save(output);
    fmt::print("{}\n{}", escape_controls(inspection.text, "\t"), in_terminal);
    if (inspection.truncated)
      say(fmt::format("the sentence or its translation is {}; the rest is not in the picture",
                      too_long(config, max_input_tokens > 0 ? max_input_tokens : inspection_limit(config))));
    if (!quiet && saved) say("attention weights of all layers and heads: " + output);
    return 0;
  }

 private:
  TextViewOptions view() const {
    TextViewOptions options = {.columns = terminal_columns()};
    if (layer_flag->count() > 0) options.layer = layer;
    if (head_flag->count() > 0) options.head = head;
    return options;
  }

  void check_flags() const {
    for (const Option* option : {layer_flag, head_flag})
      require<UsageError>(text || option->count() == 0, "qkv inspect",
                          "{} is for --text; files have all layers and heads", option->get_name());
    require<UsageError>(layer >= 0 && head >= 0, "qkv inspect", "layers and heads are counted from 0, got {}",
                        std::min(layer, head));
  }

  Inspection inspection_of(Architecture architecture) const {
    if (is_language_model(architecture))
      require<UsageError>(target.empty() && beam_flag->count() == 0, "qkv inspect",
                          "--target and --beam are for models that translate; this one is {}",
                          name_of(architecture));
    if (architecture == Architecture::causal)
      return inspect(open_generator("inspect", model, held), sentence, max_input_tokens);
    if (architecture == Architecture::masked)
      return inspect(open_mask_filler("inspect", model, held), sentence, FillMaskOptions().marker,
                     max_input_tokens);
    const Translator translator = open_translator("inspect", model, held);
    InspectOptions options = {.translate = translator.defaults(), .max_input_tokens = max_input_tokens};
    if (beam_flag->count() > 0) options.translate->search.beam = beam;
    if (!target.empty()) options.target = target;
    return inspect(translator, sentence, options);
  }
};

}  // namespace

Command add_inspect(App& parent) {
  App& app = *parent.add_subcommand("inspect", "draw the attention of every layer and head to a sentence");
  const auto c = std::make_shared<InspectCommand>();
  model_flag(app, c->model)->required();
  flag(app, "sentence", c->sentence,
       "source sentence; for a language model, a text, where [MASK] stands for a masked token", "SENTENCE");
  app.group("Input and output");
  flag(app, "--target", c->target, "target sentence to inspect instead of the model's translation", "SENTENCE");
  c->output_flag =
      flag(app, "--output", c->output,
           "attention weights as .html (interactive), .svg or .png (static) or .json (numbers)", "FILE");
  app.add_flag("--text", c->text,
               "show the attention in the terminal; no file is written unless --output is given");
  choice(app, "--attention", c->use,
         "the attention that --text shows and a page opens with; automatic: the last of these");
  c->layer_flag =
      flag(app, "--layer", c->layer, "layer of --text, from 0; all: their mean", "N")->default_str("all");
  c->head_flag = flag(app, "--head", c->head, "head of --text, from 0; all: their mean", "N")->default_str("all");
  app.group("Search");
  c->beam_flag = flag(app, "--beam", c->beam, "beam size; 1: greedy search", "N");
  flag(app, "--max-input-tokens", c->max_input_tokens,
       "longer sentences are cut, and reported; 0: what the model is made for, as far as all layers and heads have "
       "at "
       "most 33 million weights",
       "TOKENS");
  quiet_flag(app, c->quiet);
  weight_flags(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv inspect -m my-model \"I am cold.\"\n"
      "  qkv inspect -m my-model \"I am cold.\" --target \"Mir ist kalt.\" -o attention.svg");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
