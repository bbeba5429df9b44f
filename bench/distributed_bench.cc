// Attention over processes: time, bytes sent and peak memory of each rank.
//
//     mpirun -n 4 distributed_bench --tokens 262144 --mask window --window 1024
//     distributed_bench --tokens 65536 --mask documents --document 4096 --type bf16        # one process
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "qkv/attention.h"
#include "qkv/base/peak_memory.h"

namespace {

using namespace qkv;

struct Options {
  int64_t tokens = 16384, heads = 4, kv_heads = 2, width = 64, window = 1024, document = 4096;
  std::string mask = "window", layout = "contiguous", type = "f32", distribution = "automatic";
  bool forward_only = false;
};

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("Attention over processes: time, bytes sent and peak memory of each rank.");
  app.add_option("--tokens", o.tokens, "of the whole sequence")->capture_default_str();
  app.add_option("--heads", o.heads)->capture_default_str();
  app.add_option("--kv-heads", o.kv_heads)->capture_default_str();
  app.add_option("--width", o.width)->capture_default_str();
  app.add_option("--mask", o.mask)
      ->check(CLI::IsMember({"none", "causal", "window", "documents"}))
      ->capture_default_str();
  app.add_option("--window", o.window, "tokens that a token looks back")->capture_default_str();
  app.add_option("--document", o.document, "tokens of a document")->capture_default_str();
  app.add_option("--layout", o.layout)->check(CLI::IsMember({"contiguous", "zigzag"}))->capture_default_str();
  app.add_option("--type", o.type)->check(CLI::IsMember({"f32", "bf16"}))->capture_default_str();
  app.add_option("--distribution", o.distribution)
      ->check(CLI::IsMember({"automatic", "ring", "heads"}))
      ->capture_default_str();
  app.add_flag("--forward-only", o.forward_only);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e));
  }
  return o;
}

MaskPtr chosen_mask(const Options& o) {
  if (o.mask == "none") return {};
  if (o.mask == "window") return window(o.window, 0);
  if (o.mask == "causal") return causal();
  Tensor ids = Tensor::empty({1, o.tokens}, DType::i32);
  for (int64_t i = 0; i < o.tokens; ++i) ids.data<int32_t>()[i] = static_cast<int32_t>(i / o.document);
  return causal() & documents(ids);
}

Tensor normal(const Shape& shape, uint64_t stream, DType type) {
  Random random(5, stream);
  Tensor x = Tensor::empty(shape);
  for (float& value : x.span<float>()) value = static_cast<float>(random.normal());
  return x.to(type);
}

double seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

void run(const Options& o, Communicator& c) {
  const SequenceLayout layout =
      o.layout == "zigzag" ? zigzag_layout(o.tokens, c.size()) : contiguous_layout(o.tokens, c.size());
  const DType type = o.type == "bf16" ? DType::bf16 : DType::f32;
  const int64_t rows = layout.rows(c.rank());
  const auto input = [&](int64_t heads, int kind) {
    return Variable(normal({1, heads, rows, o.width}, static_cast<uint64_t>(4 * c.rank() + kind), type),
                    {.requires_grad = !o.forward_only});
  };
  const Variable q = input(o.heads, 0), k = input(o.kv_heads, 1), v = input(o.kv_heads, 2);
  const std::map<std::string, Distribution> distributions = {
      {"automatic", Distribution::automatic}, {"ring", Distribution::ring}, {"heads", Distribution::heads}};
  const DistributedSequence sequence = {c, layout, layout, distributions.at(o.distribution)};
  const AttentionOptions options = {.mask = chosen_mask(o)};
  const std::string plan = distributed_plan(q, k, v, sequence, options).text();
  const int64_t preparation = c.bytes_sent(), before = peak_memory();
  c.barrier();
  auto start = std::chrono::steady_clock::now();
  const Variable y = distributed_attention(q, k, v, sequence, options);
  const double forward = seconds(start);
  const int64_t forward_bytes = c.bytes_sent() - preparation;
  start = std::chrono::steady_clock::now();
  if (!o.forward_only) y.backward(normal(y.shape(), 9, type));
  const double backward = seconds(start);
  const std::string line = fmt::format(
      "rank {}: {} tokens, forward {:.2f} s, {:.2f} MB sent; backward {:.2f} s, {:.2f} MB sent; peak memory {:.0f} "
      "MB, of "
      "which {:.0f} MB before the call\n",
      c.rank(), rows, forward, static_cast<double>(forward_bytes) * 1e-6, backward,
      static_cast<double>(c.bytes_sent() - preparation - forward_bytes) * 1e-6,
      static_cast<double>(peak_memory()) * 1e-6, static_cast<double>(before) * 1e-6);
  const auto lines = all_gather_bytes(c, bytes_of(line));
  if (c.rank() != 0) return;
  std::cout << plan;
  for (const auto& bytes : lines)
    std::cout << std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv), world());
    leave_world();
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
