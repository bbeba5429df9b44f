#include <memory>

#include "cli/attention_flags.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/base/json.h"
#include "qkv/measure/attention_comparison.h"
#include "qkv/picture/cost_curves.h"

namespace qkv::cli {
namespace {

struct CompareCommand {
  AttentionSizes sizes;
  CompareOptions options;
  std::string output;
  int threads = 0;
  bool json = false, quiet = false;

  int run() {
    if (threads > 0) set_threads(threads);
    options.work = attention_workload(sizes, "qkv compare");
    if (!quiet) options.progress = [](const std::string& what) { say("measuring " + what); };
    const AttentionComparison comparison = compare_attention(options);
    if (!output.empty()) comparison_curves(comparison).save(output);
    Output out("-");
    out.print(json ? comparison_json(comparison).dump() + "\n" : comparison_table(comparison));
    out.close();
    if (!output.empty() && !quiet) say("curves: " + output);
    return 0;
  }
};

}  // namespace

Command add_compare(App& parent) {
  App& app = *parent.add_subcommand("compare", "compare mechanisms of attention, for a sweep over one size");
  const auto c = std::make_shared<CompareCommand>();
  app.add_value("mechanisms", c->options.mechanisms,
                "attention variants, also with kv-heads=N, or with stored, whose weights are kept; full, stored, "
                "kv-heads=1, additive and some sparse ones unless given")
      ->type_name("MECHANISM")
      ->any_number();
  app.group("Sizes");
  attention_flags(app, c->sizes);
  flag(app, "--sweep", c->options.sweep,
       "head-width, heads, queries, keys or length (of queries and keys): FROM, doubled until TO; without these, "
       "up to the size given",
       "SIZE[=FROM..TO]");
  app.group("Output");
  flag(app, "--measure", c->options.measure, "time each call here, in which nothing else should run", "");
  flag(app, "--json", c->json, "one line of JSON instead of a table", "");
  flag(app, "--output", c->output, "plot as .svg, .html or .png", "FILE");
  threads_flag(app, c->threads);
  quiet_flag(app, c->quiet);
  app.footer(
      "Examples:\n"
      "  qkv compare full window=256 bigbird --causal --sweep length=512..8192\n"
      "  qkv compare full kv-heads=2 kv-heads=1+window=1024 --queries 1 --sweep keys=1024..65536 --causal\n"
      "  qkv compare full stored additive --sweep length=128..2048 --measure --output compare.svg");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
