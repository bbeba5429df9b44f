#include "qkv/measure/cluster_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/measure/decoding_speed.h"
#include "qkv/measure/machine_speed.h"
#include "qkv/model/describe_tables.h"
#include "qkv/model/transformer.h"

namespace qkv {
namespace {

using Clock = std::chrono::steady_clock;

int64_t head_width(const TransformerConfig& c) { return c.head_width > 0 ? c.head_width : c.d_model / c.heads; }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Tensor random_ids(int64_t rows, int64_t length, int64_t vocabulary, uint64_t stream) {
  Random random(1, stream);
  Tensor ids = Tensor::empty({rows, length}, DType::i32);
  for (int32_t& id : ids.span<int32_t>())
    id = 4 + static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary - 4)));
  return ids;
}

// Target tokens a second of updates of about 1,000.
double measure_training(Transformer& model) {
  constexpr int64_t sentences = 40, length = 25;
  const int64_t V = model.config().target_vocabulary();
  double fastest = 0;
  for (uint64_t round = 0; round < 3; ++round) {
    const auto start = Clock::now();
    Pass pass{.training = true, .seed = 1, .step = round};
    model
        .loss(random_ids(sentences, length, model.config().source_vocabulary(), 3 * round),
              std::vector<int32_t>(sentences, length), random_ids(sentences, length, V, 3 * round + 1),
              random_ids(sentences, length, V, 3 * round + 2), {.label_smoothing = 0.1f}, pass)
        .loss.backward();
    model.visit([](const std::string&, Variable& parameter) { parameter.zero_grad(); });
    fastest = std::max(fastest, static_cast<double>(sentences * length) / seconds_since(start));
  }
  return fastest;
}

// FLOP/s of a causal forward.
double measure_attention(const TransformerConfig& config) {
  constexpr int64_t T = 2048;
  const auto normal = [&](int64_t heads, uint64_t stream) {
    Random random(1, stream);
    Tensor x = Tensor::empty({1, heads, T, head_width(config)});
    for (float& number : x.span<float>()) number = static_cast<float>(random.normal());
    return x;
  };
  const int64_t G = config.kv_heads > 0 ? config.kv_heads : config.heads;
  const Tensor q = normal(config.heads, 1), k = normal(G, 2), v = normal(G, 3);
  double fastest = 0;
  for (int round = 0; round < 4; ++round) {
    const auto start = Clock::now();
    attention(q, k, v, {.mask = causal()});
    const double flops = 2.0 * T * T * static_cast<double>(config.heads * head_width(config));
    fastest = std::max(fastest, flops / seconds_since(start));
  }
  return fastest;
}

// How much faster a node is than the machine that was measured.
double scale_of(const NodeSpeed& node, const ClusterOptions& cluster) {
  return cluster.cores > 0 ? static_cast<double>(cluster.cores) / node.threads : 1.0;
}

double bytes_per_second(const ClusterOptions& cluster) { return 1e9 * cluster.bandwidth; }

std::string duration_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", 1000 * seconds);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  if (seconds < 172'800) return fmt::format("{:.3g} h", seconds / 3600);
  return fmt::format("{:.3g} days", seconds / 86'400);
}

std::string percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

}  // namespace

void check_options(const ClusterOptions& o) {
  const auto check = [](bool good, const char* name, auto value, const char* expected) {
    require<UsageError>(good, "plan", "{} must be {}, got {}", name, expected, value);
  };
  check(o.nodes >= 1 && o.nodes <= 1'000'000, "nodes", o.nodes, "1 to 1000000");
  check(o.cores >= 0 && o.cores <= 100'000, "cores", o.cores, "0 to 100000");
  check(o.bandwidth > 0 && std::isfinite(o.bandwidth), "bandwidth", o.bandwidth, "a positive number of GB/s");
  check(o.latency >= 0 && std::isfinite(o.latency), "latency", o.latency, "at least 0 microseconds");
  check(o.jitter >= 0 && o.jitter <= 1, "jitter", o.jitter, "0 to 1");
  check(o.batch_tokens >= 1, "batch-tokens", o.batch_tokens, "at least 1");
  check(o.context >= 1, "context", o.context, "at least 1");
  check(o.sentences >= 1 && std::isfinite(o.sentences), "sentences", o.sentences, "at least 1");
  check(o.sentence_tokens > 0 && std::isfinite(o.sentence_tokens), "sentence-tokens", o.sentence_tokens,
        "a positive number");
}

NodeSpeed measure_node(const ModelConfig& config) {
  require<UsageError>(!config.is_recurrent(), "plan", "the model must be a Transformer, got {}",
                      name_of(config.architecture()));
  NodeSpeed node;
  node.threads = threads();
  node.memory = 1e9 * measure_machine().memory;
  Transformer model(config.transformer(), 1);
  node.parameters = model.parameter_count();
  node.embedding = config.transformer().d_model * config.source_vocabulary();
  node.training = measure_training(model);
  node.attention = measure_attention(config.transformer());
  const NoGrad guard;
  model.pack_for_inference(WeightFormat::int8);
  node.translation =
      measure_decoding(model, random_sentences(128, config.source_vocabulary()), {.rounds = 2}).tokens_per_s;
  return node;
}

double slowest_of(int64_t n, double jitter) {
  const int64_t updates = std::clamp<int64_t>(2'000'000 / n, 10, 1000);
  Random random(1, static_cast<uint64_t>(n));
  double total = 0;
  for (int64_t update = 0; update < updates; ++update) {
    double slowest = 0;
    for (int64_t i = 0; i < n; ++i) slowest = std::max(slowest, 1 + jitter * random.normal());
    total += slowest;
  }
  return total / static_cast<double>(updates);
}

TrainingPlan plan_training(const NodeSpeed& node, const ClusterOptions& cluster, int64_t nodes) {
  const auto N = static_cast<double>(nodes), P = static_cast<double>(node.parameters);
  const double scale = scale_of(node, cluster), shared = cluster.shard_optimizer ? N : 1;
  TrainingPlan plan{.nodes = nodes};
  plan.compute = static_cast<double>(cluster.batch_tokens) / N / (node.training * scale) *
                 (nodes > 1 ? slowest_of(nodes, cluster.jitter) : 1);
  plan.sent = 2 * 4 * P * (N - 1) / N;
  plan.communication = plan.sent / bytes_per_second(cluster) + 2 * std::log2(N) * 1e-6 * cluster.latency;
  plan.waiting = std::max(plan.communication - 2.0 / 3 * plan.compute,
                          plan.communication * static_cast<double>(node.embedding) / P);
  plan.optimizer = 28 * P / shared / (node.memory * scale);
  plan.memory = 4 * P * (2 + 2 / shared);
  return plan;
}

ContextPlan plan_context(const ModelConfig& config, const NodeSpeed& node, const ClusterOptions& cluster,
                         int64_t nodes) {
  const TransformerConfig& c = config.transformer();
  const auto N = static_cast<double>(nodes), T = static_cast<double>(cluster.context);
  const auto H = static_cast<double>(c.heads), G = static_cast<double>(c.kv_heads > 0 ? c.kv_heads : c.heads);
  const auto D = static_cast<double>(head_width(c));
  ContextPlan plan{.nodes = nodes};
  plan.compute = 3.5 * 2 * T * T * H * D / N / (node.attention * scale_of(node, cluster));
  plan.sent = 3 * 0.75 * 2 * T / N * G * D * 4 * (N - 1);
  plan.communication = plan.sent / bytes_per_second(cluster) + 3 * (N - 1) * 1e-6 * cluster.latency;
  plan.memory = T / N * D * 4 * (4 * H + 4 * G);  // q, out and their gradients; k, v and theirs
  return plan;
}

std::vector<int64_t> node_counts(int64_t nodes) {
  std::vector<int64_t> counts;
  for (int64_t n = 1; n < nodes; n *= 2) counts.push_back(n);
  counts.push_back(nodes);
  return counts;
}

std::string plan_tables(const ModelConfig& config, const NodeSpeed& node, const ClusterOptions& cluster) {
  check_options(cluster);
  const double scale = scale_of(node, cluster);
  const int64_t cores = cluster.cores > 0 ? cluster.cores : node.threads;
  const auto count = [](double n) { return with_commas(std::llround(n)); };
  std::string out = fmt::format(
      "Measured here with {} threads: training {} and translation (int8, batch 64) {} target tokens/s,\n"
      "attention {:.0f} GFLOP/s, memory {:.1f} GB/s. Nodes of {} cores are taken to be {:.3g} times as fast,\n"
      "with {:.3g} GB/s and {:.3g} us between them, and times that vary by {}.\n\n",
      node.threads, count(node.training), count(node.translation), 1e-9 * node.attention, 1e-9 * node.memory, cores,
      scale, cluster.bandwidth, cluster.latency, percent(cluster.jitter));

  std::vector<TableRow> rows = {
      {"Nodes", "an update", "compute", "communication", "waiting", "optimizer", "efficiency", "sent", "memory"}};
  const double alone = plan_training(node, cluster, 1).seconds();
  for (const int64_t n : node_counts(cluster.nodes)) {
    const TrainingPlan plan = plan_training(node, cluster, n);
    rows.push_back({with_commas(n), duration_text(plan.seconds()), duration_text(plan.compute),
                    duration_text(plan.communication), duration_text(plan.waiting), duration_text(plan.optimizer),
                    percent(alone / (static_cast<double>(n) * plan.seconds())), bytes_text(plan.sent),
                    bytes_text(plan.memory)});
  }
  const std::vector<bool> right(9, true);
  out += fmt::format("Training, {} parameters, {} target tokens an update; sent and memory of a node\n",
                     with_commas(node.parameters), with_commas(cluster.batch_tokens)) +
         table(rows, right) + "\n";

  rows = {{"Nodes", "seconds", "compute", "communication", "sent", "memory"}};
  for (const int64_t n : node_counts(cluster.nodes)) {
    const ContextPlan plan = plan_context(config, node, cluster, n);
    rows.push_back({with_commas(n), duration_text(plan.compute + plan.communication), duration_text(plan.compute),
                    duration_text(plan.communication), bytes_text(plan.sent), bytes_text(plan.memory)});
  }
  out += fmt::format("Causal attention of {} tokens by ring, a layer, forward and backward\n",
                     with_commas(cluster.context)) +
         table(rows, std::vector<bool>(6, true)) + "\n";

  rows = {{"Nodes", "time", "core-hours"}};
  const double seconds = cluster.sentences * cluster.sentence_tokens / (node.translation * scale);
  for (const int64_t n : node_counts(cluster.nodes))
    rows.push_back({with_commas(n), duration_text(seconds / static_cast<double>(n)),
                    count(seconds * static_cast<double>(cores) / 3600)});
  out += fmt::format("Translation of {} sentences of {:.3g} target tokens in shards\n", count(cluster.sentences),
                     cluster.sentence_tokens) +
         table(rows, std::vector<bool>(3, true));
  return out +
         "\nTimes are predictions: cores of a node are taken to scale. In training gradients are sent while others "
         "are\n"
         "computed, and waiting is the rest. Activations are not in the memory of training.\n";
}

}  // namespace qkv
