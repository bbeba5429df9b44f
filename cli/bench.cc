#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/base/json.h"
#include "qkv/measure/speed_report.h"

namespace qkv::cli {
namespace {

struct BenchCommand {
  std::optional<WeightFormat> weights;
  SpeedOptions options;
  int threads = 0;
  bool json = false, quiet = false;

  int run() {
    if (threads > 0) set_threads(threads);
    if (weights) options.formats = {*weights};
    if (!quiet) options.progress = [](const std::string& what) { say("measuring " + what); };
    const SpeedReport report = measure_speed(options);
    Output out("-");
    out.print(json ? speed_json(report).dump() + "\n" : speed_tables(report));
    out.close();
    return 0;
  }
};

}  // namespace

Command add_bench(App& parent) {
  App& app = *parent.add_subcommand("bench", "measure which part of its limits this machine reaches");
  const auto c = std::make_shared<BenchCommand>();
  app.group("What is measured");
  recipe_flag(app, c->options.recipe, "whose translations are measured");
  choice(app, "--weights", c->weights, "only these numbers; automatic: f32, bf16, int8 and five formats of blocks");
  app.group("Output");
  flag(app, "--json", c->json, "one line of JSON instead of tables", "");
  threads_flag(app, c->threads);
  quiet_flag(app, c->quiet);
  app.footer(
      "Examples:\n"
      "  qkv bench                                   # a minute, in which nothing else should run\n"
      "  qkv bench --recipe transformer-base --weights int8 --json");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
