#include <memory>

#include <fmt/core.h>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/base/counted.h"
#include "qkv/base/file.h"
#include "qkv/base/progress.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/make_shortlist.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {
namespace {

struct ShortlistCommand {
  std::string model, train, output;
  InferenceOptions held;
  ShortlistOptions options;
  bool quiet = false;
  int threads = 0;

  int run() const {
    if (threads > 0) set_threads(threads);
    check_options(options);
    { const FileWriter writable(output); }  // found out before the work
    const Translator translator = open_translator("shortlist", model, held);
    CorpusReader pairs(train);
    Progress progress({.quiet = quiet || !Progress::stderr_is_terminal(), .terminal = true});
    const MadeShortlist made = make_shortlist(translator, pairs, options, [&](int64_t done) {
      if (progress.due()) progress.show({.parts = {{fmt::format("{}", counted(done, "pair"))}}});
    });
    progress.clear();
    made.shortlist.save(output);
    if (quiet) return 0;
    if (made.too_long > 0) say(fmt::format("{} were too long and left out", counted(made.too_long, "pair")));
    say(fmt::format("{}: {}, {}, {} of {}", output, counted(made.pairs, "pair"),
                    counted(std::ssize(made.shortlist.table().frequent), "frequent token"),
                    counted(made.shortlist.translation_count(), "translation"),
                    counted(made.shortlist.table().source.size, "source token")));
    return 0;
  }
};

}  // namespace

Command add_shortlist(App& parent) {
  App& app = *parent.add_subcommand("shortlist", "make a shortlist of likely target tokens, to translate faster");
  const auto c = std::make_shared<ShortlistCommand>();
  model_flag(app, c->model)->required();
  flag(app, "--train", c->train,
       "sentence pairs that the model was trained on: TSV (source TAB target), or two files with a sentence per "
       "line; "
       "plain, gzip or zstd",
       corpus_unit)
      ->required();
  flag(app, "--output", c->output, "file to write, for qkv translate --shortlist", "FILE")->required();
  decoding_flags(app, c->options);
  quiet_flag(app, c->quiet);
  weight_flags(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv shortlist -m my-model --train pairs.tsv -o my-model.shortlist\n"
      "  qkv translate -m my-model --shortlist my-model.shortlist -i sentences.txt");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
