// What a training, attention over a long sequence, and the translation of a corpus would take on N nodes: predictions from
// formulas, whose inputs are measured on one machine. qkv plan prints them.
//
//     const NodeSpeed node = measure_node(config);                         // half a minute, in which nothing else should run
//     std::string text = plan_tables(config, node, {.nodes = 64, .cores = 32, .bandwidth = 1.25});
//
// A node is one rank of data-parallel training, with all of its cores. With P parameters, N nodes, W bytes a second between two
// of them, L seconds of latency, and B target tokens in an update:
//
//     compute        (B / N) seconds of a token, times the slowest of N nodes in units of their mean (see jitter)
//     communication  2 4 P (N - 1) / N / W + 2 log2(N) L            reduce-scatter and all-gather by halving and doubling
//     waiting        communication beyond the backward pass, which is 2/3 of compute; at least that of the embedding, whose gradient
//                    is complete last (train/exchange_thread.h)
//     optimizer      28 P bytes of memory; of N nodes that share its state 12 P / N + 16 P / N
//     memory         4 P of each of: values, gradients, two moments (divided by N with a shared state), without activations
//
// Attention of one layer, forward and backward, whose T queries and keys are spread over the nodes (attention/distributed.h), with
// a causal mask:
//
//     compute        7/2 of a forward, which has 2 T^2 H D FLOPs
//     sent           by a node, forward 3/4 2 (T / N) G D 4 (N - 1) bytes, and twice that backward, keys and values in f32
//
// A corpus is divided and nothing is sent: seconds = tokens / (tokens a second of a node) / N.
//
// Cores are taken to work as those measured do: a node of twice the cores is twice as fast. That is stated with the tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/model/config.h"

namespace qkv {

// Measured with `threads` threads.
struct NodeSpeed {
  int threads = 1;
  double training = 0;     // target tokens a second, forward and backward
  double translation = 0;  // target tokens a second, greedy search of int8 weights in batches of 64
  double attention = 0;    // FLOP/s of causal attention, forward
  double memory = 0;       // bytes a second
  int64_t parameters = 0;
  int64_t embedding = 0;  // parameters of the source embedding
};

// UsageError for a recurrent model.
NodeSpeed measure_node(const ModelConfig& config);

struct ClusterOptions {
  int64_t nodes = 8;
  int64_t cores = 0;              // of a node; 0: as many as were measured
  double bandwidth = 1.25;        // GB/s between two nodes, in one direction
  double latency = 50;            // microseconds
  double jitter = 0.03;           // standard deviation of the time of a node, in units of its mean
  int64_t batch_tokens = 25'000;  // target tokens of an update, of all nodes
  bool shard_optimizer = false;
  int64_t context = 262'144;  // tokens of the long sequence
  double sentences = 1e9;     // of the corpus
  double sentence_tokens = 25;
};
void check_options(const ClusterOptions& options);

struct TrainingPlan {
  int64_t nodes = 1;
  double compute = 0, communication = 0, waiting = 0, optimizer = 0;  // seconds of an update
  double sent = 0, memory = 0;                                        // bytes of a node
  double seconds() const { return compute + waiting + optimizer; }
};
TrainingPlan plan_training(const NodeSpeed& node, const ClusterOptions& cluster, int64_t nodes);

struct ContextPlan {
  int64_t nodes = 1;
  double compute = 0, communication = 0;  // seconds
  double sent = 0, memory = 0;            // bytes of a node
};
ContextPlan plan_context(const ModelConfig& config, const NodeSpeed& node, const ClusterOptions& cluster,
                         int64_t nodes);

// The mean of the slowest of n nodes, in units of their mean time, by simulation of up to 1,000 updates; the same for the
// same arguments.
double slowest_of(int64_t n, double jitter);

// 1, 2, 4, ... and the number of nodes itself.
std::vector<int64_t> node_counts(int64_t nodes);

std::string plan_tables(const ModelConfig& config, const NodeSpeed& node, const ClusterOptions& cluster);

}  // namespace qkv
