#include "cli/evaluate_model.h"

#include <chrono>

#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {

std::vector<std::string> translations_to_evaluate(const std::string& model, std::span<const std::string> sources,
                                                  const ModelToEvaluate& how) {
  Translator translator = open_translator("evaluate", model, how.held);
  if (!how.shortlist.empty()) translator.use_shortlist(how.shortlist);
  const TranslateOptions options = how.options(translator.defaults());
  check_options(options);
  if (!how.quiet)
    for (const std::string& ignored : ignored_by_translate(model)) say(ignored);
  const ModelConfig& config = translator.model().config();
  const std::string longer = too_long(config, input_limit(config, options.max_input_tokens));
  LineReports reports;
  Progress progress({.quiet = how.quiet || !Progress::stderr_is_terminal(), .terminal = true});
  const auto start = std::chrono::steady_clock::now();
  const auto show = [&](int64_t done) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (progress.due()) progress.show(line_progress(done, std::ssize(sources), elapsed.count()));
  };
  std::vector<std::string> lines;
  try {
    const std::vector<Translation> translations = translator.translate(sources, options, show);
    progress.clear();
    for (const Translation& t : translations) {
      lines.push_back(escape_controls(t.text, "\t"));
      if (t.truncated)
        reports.add("were too long",
                    fmt::format("{}:{}: {}; the rest was not translated", how.file, lines.size(), longer));
    }
  } catch (const RefusedTexts& e) {
    fail<InputError>(fmt::format("{}:{}", how.file, e.texts()[0].index + 1), "{}", e.texts()[0].reason);
  }
  reports.finish();
  return lines;
}

}  // namespace qkv::cli
