#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/measure/cluster_plan.h"

namespace qkv::cli {
namespace {

struct PlanCommand {
  std::string recipe = "transformer-base";
  int64_t vocabulary_size = 32'000;
  ClusterOptions cluster;
  int threads = 0;
  bool quiet = false;

  int run() {
    check_options(cluster);
    if (threads > 0) set_threads(threads);
    ModelConfig config = qkv::recipe(recipe);
    config.set_vocabularies(vocabulary_size, vocabulary_size);
    config.check();
    if (!quiet) say("measuring this machine, for half a minute");
    Output out("-");
    out.print(plan_tables(config, measure_node(config), cluster));
    out.close();
    return 0;
  }
};

}  // namespace

Command add_plan(App& parent) {
  App& app = *parent.add_subcommand("plan", "predict training, long sequences and corpora on many machines");
  const auto c = std::make_shared<PlanCommand>();
  app.group("Model");
  recipe_flag(app, c->recipe, "of the model, whose speed is measured here");
  flag(app, "--vocabulary-size", c->vocabulary_size, "vocabulary size", "TOKENS");
  app.group("Machines");
  flag(app, "--nodes", c->cluster.nodes, "number of nodes, up to which the tables go", "N");
  flag(app, "--cores", c->cluster.cores, "cores of a node; 0: as many threads as are measured here", "N");
  flag(app, "--bandwidth", c->cluster.bandwidth, "GB/s from one node to another", "GB/S");
  flag(app, "--latency", c->cluster.latency, "microseconds that a message takes", "US");
  flag(app, "--jitter", c->cluster.jitter, "standard deviation of the time of a node, in units of its mean",
       "SHARE");
  app.group("Work");
  flag(app, "--batch-tokens", c->cluster.batch_tokens, "training: target tokens of an update, of all nodes",
       "TOKENS");
  app.add_flag("--shard-optimizer", c->cluster.shard_optimizer,
               "training: each node keeps a part of the optimizer's state");
  flag(app, "--context", c->cluster.context, "attention: tokens of the sequence", "TOKENS");
  flag(app, "--sentences", c->cluster.sentences, "translation: sentences of the corpus", "N");
  flag(app, "--sentence-tokens", c->cluster.sentence_tokens, "translation: target tokens of a sentence", "N");
  app.group("Output");
  threads_flag(app, c->threads);
  quiet_flag(app, c->quiet);
  app.footer(
      "Examples:\n"
      "  qkv plan --nodes 64 --cores 32 --bandwidth 1.25\n"
      "  qkv plan --recipe transformer-tiny --nodes 1024 --sentences 1000000000");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
