#include <memory>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/text_input.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct FillMaskCommand {
  std::string model, input = "-", output = "-";
  std::vector<std::string> texts;  // given as arguments
  InferenceOptions held;
  FillMaskOptions options{.top_k = 0};
  bool scores = false, strict = false, quiet = false;
  int threads = 0;

  int run() const {
    if (threads > 0) set_threads(threads);
    FillMaskOptions how = options;
    how.top_k = tokens() ? options.top_k : 1;
    check_options(how);  // before anything is read
    require<UsageError>(!tokens() || options.n_best == 1, "qkv fill-mask",
                        "--top-k prints tokens, --n-best texts: give one of them");
    const MaskFiller filler = open_mask_filler("fill-mask", model, held);
    const ModelConfig& config = filler.model().config();
    const std::string longer = too_long(config, input_limit(config, options.max_input_tokens));
    LineReader lines =
        open_lines({.command = "fill-mask", .input = input, .given = texts, .what = "texts", .quiet = quiet});
    LineJob job({.command = "fill-mask",
                 .input = texts.empty() ? input : "",
                 .output = output,
                 .strict = strict,
                 .quiet = quiet});
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      const std::vector<FilledText> filled =
          filler.fill(good_items(read), how, [&](int64_t done) { job.show(done); });
      auto next = filled.begin();
      for (const ReadLine<std::string>& line : read) {
        if (line.bad) {
          job.print("\n");
          continue;
        }
        if (next->truncated)
          job.report("were too long", fmt::format("{}: {}; the rest was not read", line.where, longer));
        if (!line.item.empty() && next->masks.empty())
          job.report("had no mask", fmt::format("{}: this line has no {}", line.where, options.marker));
        job.print(tokens() ? tokens_of(*next) : texts_of(*next));
        ++next;
      }
    };
    return job.run([&] { job.answer<std::string>(lines, answer); });
  }

 private:
  bool tokens() const { return options.top_k > 0; }

  std::string texts_of(const FilledText& filled) const {
    std::string lines;
    for (const FilledText::Answer& answer : filled.texts) {
      if (scores) lines += fmt::format("{:.4f}\t", answer.probability);
      lines += escape_controls(answer.text, "\t") + "\n";
    }
    return options.n_best == 1 ? lines : lines + "\n";
  }

  static std::string tokens_of(const FilledText& filled) {
    std::string lines;
    for (const std::vector<MaskCandidate>& mask : filled.masks) {
      for (const MaskCandidate& candidate : mask)
        lines += fmt::format("{}{} {:.4f}", &candidate == &mask.front() ? "" : "\t",
                             escape_controls(candidate.token), candidate.probability);
      lines += "\n";
    }
    return lines + "\n";
  }
};

}  // namespace

Command add_fill_mask(App& parent) {
  App& app = *parent.add_subcommand("fill-mask", "replace the masks of every line by the most likely tokens");
  const auto c = std::make_shared<FillMaskCommand>();
  model_flag(app, c->model)->required();
  texts_argument(app, c->texts, "texts with masks, instead of --input", "TEXT");
  app.group("Input and output");
  flag(app, "--input", c->input, "texts with masks, one per line; plain, gzip or zstd; -: standard input", "FILE");
  flag(app, "--output", c->output, "filled texts, one per line, in the order of the input; -: standard output",
       "FILE");
  app.group("Answers");
  flag(app, "--mask", c->options.marker, "the text that marks a mask; each mask stands for one token", "TEXT");
  decoding_flags(app, c->options, {.notes = {{"n-best", "; each list ends with a blank line"}}});
  flag(app, "--top-k", c->options.top_k,
       "print the K most likely tokens of each mask with their probabilities, one line for each mask, then a blank "
       "line; 0: print texts",
       "K");
  app.add_flag("--scores", c->scores, "print the probability and a tab before each text");
  strict_flag(app, c->strict);
  quiet_flag(app, c->quiet);
  weight_flags(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv fill-mask -m words \"I am [MASK] today.\" --n-best 3 --scores\n"
      "  qkv fill-mask -m words --top-k 5 < masked.txt");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
