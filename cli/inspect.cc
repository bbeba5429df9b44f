#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "qkv/base/threads.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct InspectCommand {
  std::string model, sentence, target, output = "attention.html";
  int64_t beam = 4;
  int threads = 0;

  int run() const {
    if (threads > 0) set_threads(threads);
    require<UsageError>(!sentence.empty(), "qkv inspect",
                        "give a sentence: qkv inspect --model FOLDER \"a sentence\"");
    check_options(TranslateOptions{.beam = beam});
    const Translator translator{std::filesystem::path(model)};
    InspectOptions options = {.translate = {.beam = beam}};
    if (!target.empty()) options.target = target;
    const Inspection explanation = inspect(translator, sentence, options);
    picture_of(explanation, sentence).save(output);
    fmt::print("{}\n", escape_controls(explanation.text, "\t"));
    if (explanation.truncated) say("the sentence was too long for the model; its end was left out");
    say("where the model looked, layer by layer and head by head: " + output);
    return 0;
  }
};

}  // namespace

Command add_inspect(CLI::App& parent) {
  CLI::App& app =
      *parent.add_subcommand("inspect", "translate a sentence and draw the attention of every layer and head");
  const auto c = std::make_shared<InspectCommand>();
  flag(app, "--model", c->model, "the model folder", "FOLDER")->required();
  flag(app, "sentence", c->sentence, "what to translate", "SENTENCE");
  flag(app, "--target", c->target, "look at this translation instead of the model's own", "SENTENCE");
  flag(app, "--output", c->output, "the picture: .html to explore, .svg to print, .json to compute with", "FILE");
  flag(app, "--beam", c->beam, "hypotheses kept at a time; 1: greedy", "N");
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
