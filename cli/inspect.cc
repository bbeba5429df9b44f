#include <algorithm>
#include <memory>
#include <optional>

#include "cli/ablation.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/inspection.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/base/json.h"
#include "qkv/base/progress.h"
#include "qkv/base/threads.h"
#include "qkv/interpret/head_table.h"
#include "qkv/interpret/repeated_tokens.h"
#include "qkv/interpret/weights_file.h"
#include "qkv/picture/text_view.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct InspectCommand {
  std::string model, sentence, target, output = "attention.html";
  InferenceOptions held;
  bool text = false, rollout = false, heads = false, json = false, loss_only = false;
  std::vector<std::string> ablate;
  std::string input;
  int64_t limit = 0;
  int64_t layer = 0, head = 0;
  std::optional<AttentionUse> use = {};
  Option *output_flag = nullptr, *layer_flag = nullptr, *head_flag = nullptr;
  std::vector<Option*> sentence_flags;  // about the attention to a SENTENCE
  int64_t beam = TranslateOptions().search.beam;
  Option* beam_flag = nullptr;
  int64_t max_input_tokens = 0;
  bool quiet = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    check_flags();
    const ModelConfig config = open_config("inspect", model);
    const std::vector<NamedHeads> groups = heads_of_flag(ablate, config);
    if (!input.empty()) return print_ablation(job_of(groups), config.architecture());
    const HeadAblation without(together(groups));
    const Inspection inspection = inspection_of(config.architecture());
    if (heads)
      fmt::print("{}", json ? head_json(inspection.attention).dump(1) + "\n" : head_table(inspection.attention));
    const std::string title = sentence.empty() ? "random tokens, read twice" : sentence;
    const Picture picture = picture_of(inspection, {.title = title, .opens_with = use, .rollout = rollout});
    const bool saved = !(text || heads) || output_flag->count() > 0;
    if (saved) save(inspection, picture);
    if (!heads) fmt::print("{}\n", escape_controls(inspection.text, "\t"));
    if (text) fmt::print("\n{}", text_view(picture, view()));
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

  template <class... Args>
  static void use_of(bool ok, fmt::format_string<Args...> message, Args&&... args) {
    require<UsageError>(ok, "qkv inspect", message, std::forward<Args>(args)...);
  }

  void check_flags() const {
    use_of(!sentence.empty() || heads || !input.empty(),
           "SENTENCE is required: qkv inspect --model FOLDER \"a sentence\"");
    use_of(input.empty() || !ablate.empty(), "--input is the test set of --ablate HEADS");
    use_of(input.empty() || (sentence.empty() && !heads), "--input, a test set, excludes SENTENCE and --heads");
    for (const Option* option : sentence_flags)
      use_of(input.empty() || option->count() == 0, "{} is for the attention to a SENTENCE; --input is a test set",
             option->get_name());
    use_of(!input.empty() || (limit == 0 && !loss_only), "--limit and --loss-only are for --ablate with --input");
    use_of(limit >= 0, "--limit must be at least 0, got {}", limit);
    use_of(!json || heads || !input.empty(), "--json is for --heads, and for --ablate with --input");
    for (const Option* option : {layer_flag, head_flag})
      require<UsageError>(text || option->count() == 0, "qkv inspect",
                          "{} is for --text; files have all layers and heads", option->get_name());
    require<UsageError>(layer >= 0 && head >= 0, "qkv inspect", "layers and heads are counted from 0, got {}",
                        std::min(layer, head));
  }

  AblationJob job_of(const std::vector<NamedHeads>& groups) const {
    return {.model = model,
            .input = input,
            .groups = groups,
            .held = held,
            .beam = beam_flag->count() > 0 ? std::optional(beam) : std::nullopt,
            .limit = limit,
            .loss_only = loss_only,
            .json = json,
            .quiet = quiet,
            .sorted = groups.size() > ablate.size()};  // all or layers
  }

  std::vector<AttentionHead> together(const std::vector<NamedHeads>& groups) const {
    use_of(groups.size() == ablate.size(), "--ablate all and layers, each in turn, need a test set: --input FILE");
    std::vector<AttentionHead> out;
    for (const NamedHeads& group : groups) out.insert(out.end(), group.heads.begin(), group.heads.end());
    return out;
  }

  void save(const Inspection& inspection, const Picture& picture) const {
    if (is_weights_file(output))
      save_weights(inspection, output, {.use = use, .rollout = rollout});
    else
      picture.save(output);
  }

  Inspection inspection_of(Architecture architecture) const {
    if (sentence.empty()) {
      use_of(architecture == Architecture::causal,
             "SENTENCE is required: --heads without one reads random tokens twice, with a causal model; this one "
             "is {}",
             name_of(architecture));
      return {.attention = {repeated_tokens(open_generator("inspect", model, held))}};
    }
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
  Option* const target =
      flag(app, "--target", c->target, "target sentence to inspect instead of the model's translation", "SENTENCE");
  c->output_flag = flag(
      app, "--output", c->output,
      "attention weights as .html (interactive), .svg or .png (static), .json, .npz or .npy (numbers)", "FILE");
  Option* const text = app.add_flag(
      "--text", c->text, "show the attention in the terminal; no file is written unless --output is given");
  Option* const attention =
      choice(app, "--attention", c->use,
             "the attention that --text shows and a page opens with; automatic: the last of these");
  c->layer_flag =
      flag(app, "--layer", c->layer, "layer of --text, from 0; all: their mean", "N")->default_str("all");
  c->head_flag = flag(app, "--head", c->head, "head of --text, from 0; all: their mean", "N")->default_str("all");
  Option* const rollout =
      app.add_flag("--rollout", c->rollout,
                   "add attention rollout: how much of each token reaches each position through all layers");
  app.group("Heads");
  app.add_flag(
      "--heads", c->heads,
      "print what every head does: its strongest pattern, and the mean weight of each; without SENTENCE, on "
      "random tokens that a causal model reads twice; no file is written unless --output is given");
  list_flag(
      app, "--ablate", c->ablate,
      "replace the outputs of these heads by zero: decoder.3.cross.5, or decoder.3.cross for the whole layer; "
      "a comma joins several. With --input they may be 'all' or 'layers', each in turn, and given several times",
      "HEADS");
  flag(app, "--input", c->input,
       "test set of --ablate, whose loss and BLEU are printed: sentence pairs as of qkv evaluate, a text for a "
       "causal or masked model",
       corpus_unit);
  flag(app, "--limit", c->limit, "number of lines of the test set; 0: all", "N");
  app.add_flag("--loss-only", c->loss_only, "do not translate the test set, which BLEU needs");
  app.add_flag("--json", c->json, "print JSON instead of a table");
  app.group("Search");
  c->beam_flag = flag(app, "--beam", c->beam, "beam size; 1: greedy search", "N");
  Option* const longest =
      flag(app, "--max-input-tokens", c->max_input_tokens,
           "longer sentences are cut, and reported; 0: what the model is made for, as far as all layers and heads "
           "have at most 33 million weights",
           "TOKENS");
  c->sentence_flags = {target, c->output_flag, text, attention, c->layer_flag, c->head_flag, rollout, longest};
  quiet_flag(app, c->quiet);
  weight_flags(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv inspect -m my-model \"I am cold.\"\n"
      "  qkv inspect -m my-model \"I am cold.\" --target \"Mir ist kalt.\" -o attention.svg\n"
      "  qkv inspect -m my-model --ablate all -i held-out.tsv --loss-only\n"
      "  qkv inspect -m gpt2 --heads");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
