// Speed of the kernels: products in GFLOP/s against the peak of the machine, rows in ns per element of one core.
//
//     kernel_bench --benchmark_filter=matmul          # QKV_ISA=avx2 pins an instruction set
//     kernel_bench --benchmark_repetitions=5          # on a busy machine, use the fastest repetition
#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "qkv/base/threads.h"
#include "qkv/kernel/format/stored_format.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/matmul.h"
#include "qkv/kernel/peak.h"
#include "qkv/kernel/quantized_matrix.h"

namespace {

using namespace qkv;
using namespace qkv::kernel;

std::vector<float> normal(int64_t n) {
  std::vector<float> out(static_cast<size_t>(n));
  std::mt19937 bits(1);
  std::normal_distribution<float> draw;
  for (float& x : out) x = draw(bits);
  return out;
}

benchmark::Counter rate(double per_iteration) {
  return {per_iteration, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000};
}

void add_peaks() {
  const std::pair<const char*, double (*)()> peaks[] = {
      {"peak/f32", peak_f32}, {"peak/bf16", peak_bf16}, {"peak/int8", peak_int8}, {"peak/narrow", peak_narrow}};
  for (const auto& [name, peak] : peaks)
    benchmark::RegisterBenchmark(name, [peak = peak](benchmark::State& state) {
      double gflops = 0;
      for (auto _ : state) gflops = std::max(gflops, peak());
      state.counters["FLOP/s"] = {1e9 * gflops, benchmark::Counter::kDefaults, benchmark::Counter::kIs1000};
    })->UseRealTime();
}

// Matrix products: y = x W^T with the weight packed, and dW = dY^T X; the same with factors rounded to bf16, as in training
// with precision bf16.
template <class Pack>
void time_forward(benchmark::State& state, Pack&& pack) {
  const int64_t M = state.range(0), N = state.range(1), K = state.range(2);
  const std::vector<float> a = normal(M * K);
  std::vector<float> c(static_cast<size_t>(M * N));
  const PackedMatrix packed = pack(N, K);
  for (auto _ : state) matmul({a.data(), M, K}, packed, c.data(), N);
  state.counters["FLOP/s"] = rate(2.0 * static_cast<double>(M * N * K));
}

void forward(benchmark::State& state) {
  time_forward(state, [](int64_t N, int64_t K) {
    const std::vector<float> b = normal(N * K);
    return PackedMatrix(Matrix(b.data(), N, K).transposed());
  });
}

void forward_bf16(benchmark::State& state) {
  time_forward(state, [](int64_t N, int64_t K) {
    const std::vector<uint16_t> b(static_cast<size_t>(N * K), 0x3f80);  // 1.0
    return PackedMatrix(Bf16Matrix(b.data(), N, K).transposed());
  });
}

void forward_int8(benchmark::State& state) {
  time_forward(state, [](int64_t N, int64_t K) {
    const std::vector<float> b = normal(N * K);
    return pack_int8({b.data(), N, K});
  });
}

// All rows are the same: encoding many takes seconds.
template <WeightFormat format>
void forward_blocks(benchmark::State& state) {
  time_forward(state, [](int64_t N, int64_t K) {
    const StoredFormat& stored = stored_format(format);
    const std::vector<float> b = normal(K);
    std::vector<uint8_t> row(static_cast<size_t>(row_bytes(stored, K)));
    if (!encode_row(stored, b.data(), K, row.data())) throw std::runtime_error("the row must have blocks");
    return pack_blocks(stored, row.data(), 0, N, K);
  });
}

void rounded_forward(benchmark::State& state) {
  time_forward(state, [](int64_t N, int64_t K) {
    const std::vector<float> b = normal(N * K);
    return PackedMatrix::rounded(Matrix(b.data(), N, K).transposed());
  });
}

template <class Factor>
void time_gradient(benchmark::State& state, Factor&& factor) {
  const int64_t M = state.range(0), N = state.range(1), K = state.range(2);
  const std::vector<float> a = normal(M * K), b = normal(N * K);
  std::vector<float> c(static_cast<size_t>(M * N));
  for (auto _ : state) matmul(Matrix(a.data(), K, M).transposed(), factor(Matrix(b.data(), K, N)), c.data(), N);
  state.counters["FLOP/s"] = rate(2.0 * static_cast<double>(M * N * K));
}

void weight_gradient(benchmark::State& state) {
  time_gradient(state, [](Matrix b) { return b; });
}
void rounded_gradient(benchmark::State& state) { time_gradient(state, PackedMatrix::rounded); }

void packing(benchmark::State& state) {
  const int64_t N = state.range(0), K = state.range(1);
  const bool transposed = state.range(2) != 0;
  const std::vector<float> b = normal(N * K);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        PackedMatrix(transposed ? Matrix(b.data(), N, K).transposed() : Matrix(b.data(), K, N)));
  state.counters["bytes/s"] = rate(8.0 * static_cast<double>(N * K));
}

void add_products() {
  auto* f = benchmark::RegisterBenchmark("matmul/packed", forward)->UseRealTime()->ArgNames({"M", "N", "K"});
  for (int64_t M : {4096, 1024, 64, 8, 1}) f->Args({M, 512, 512});
  f->Args({4096, 2048, 512})->Args({4096, 512, 2048})->Args({4096, 128, 128})->Args({1024, 128, 128});
  f->Args({4096, 256, 128})->Args({1024, 10000, 128})->Args({1024, 10000, 512})->Args({1024, 128, 10000});
  f->Args({1, 8192, 2048});
  auto* h =
      benchmark::RegisterBenchmark("matmul/packed_bf16", forward_bf16)->UseRealTime()->ArgNames({"M", "N", "K"});
  for (int64_t M : {4096, 64, 8, 1}) h->Args({M, 512, 512});
  h->Args({1, 8192, 2048});
  auto* i =
      benchmark::RegisterBenchmark("matmul/packed_int8", forward_int8)->UseRealTime()->ArgNames({"M", "N", "K"});
  for (int64_t M : {4096, 64, 8, 1}) i->Args({M, 512, 512});
  i->Args({64, 128, 128})->Args({64, 384, 128})->Args({64, 10000, 128})->Args({64, 32000, 512});
  for (auto* b : {benchmark::RegisterBenchmark("matmul/packed_q8_0", forward_blocks<WeightFormat::q8_0>),
                  benchmark::RegisterBenchmark("matmul/packed_q4_0", forward_blocks<WeightFormat::q4_0>),
                  benchmark::RegisterBenchmark("matmul/packed_q4_k", forward_blocks<WeightFormat::q4_k>),
                  benchmark::RegisterBenchmark("matmul/packed_q6_k", forward_blocks<WeightFormat::q6_k>)})
    b->UseRealTime()->ArgNames({"M", "N", "K"})->Args({256, 2048, 2048})->Args({64, 512, 512});
  auto* w =
      benchmark::RegisterBenchmark("matmul/dW", weight_gradient)->UseRealTime()->ArgNames({"N", "K", "tokens"});
  for (int64_t tokens : {1000, 4096}) w->Args({128, 128, tokens})->Args({512, 512, tokens});
  w->Args({256, 128, 4096})->Args({512, 2048, 4096})->Args({2048, 512, 4096});
  w->Args({10000, 128, 2048})->Args({10000, 512, 2048})->Args({32000, 512, 2048});
  auto* r =
      benchmark::RegisterBenchmark("matmul/rounded", rounded_forward)->UseRealTime()->ArgNames({"M", "N", "K"});
  r->Args({2048, 512, 512})->Args({2048, 2048, 512})->Args({2048, 512, 2048})->Args({64, 32000, 512});
  r->Args({64, 512, 32000})->Args({4096, 128, 128});
  auto* g = benchmark::RegisterBenchmark("matmul/rounded_dW", rounded_gradient)
                ->UseRealTime()
                ->ArgNames({"N", "K", "tokens"});
  g->Args({512, 512, 2048})->Args({512, 2048, 2048})->Args({2048, 512, 2048})->Args({32000, 512, 64});
  g->Args({32000, 512, 2048})->Args({128, 128, 4096});
  auto* p = benchmark::RegisterBenchmark("pack", packing)->UseRealTime()->ArgNames({"N", "K", "transposed"});
  p->ArgsProduct({{512}, {512}, {0, 1}})->ArgsProduct({{10000}, {512}, {0, 1}});
}

// Row kernels: 64 rows of 512 floats, which fit the second-level cache, on one core.
struct Rows {
  static constexpr int64_t count = 64, width = 512, size = count * width;
  std::vector<float> x = normal(size), dy = normal(size), y = std::vector<float>(size), m = y, v = y;
  std::vector<float> weight = normal(width), bias = normal(width), sum = std::vector<float>(width), sum2 = sum;
};

using RowLoop = std::function<void(const RowKernels&, Rows&)>;

void add_row(const std::string& name, RowLoop loop) {
  benchmark::RegisterBenchmark(("row/" + name).c_str(), [loop](benchmark::State& state) {
    Rows rows;
    for (auto _ : state) {
      loop(kernels().rows, rows);
      benchmark::ClobberMemory();
    }
    state.counters["s/element"] =
        benchmark::Counter(static_cast<double>(Rows::size),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  });
}

// body(row offset) for every row.
template <class F>
void each_row(F body) {
  for (int64_t i = 0; i < Rows::size; i += Rows::width) body(i);
}

void add_rows() {
  constexpr int64_t n = Rows::width, all = Rows::size;
  add_row("softmax", [](auto& k, Rows& r) { each_row([&](int64_t i) { k.softmax(&r.x[i], n, &r.y[i]); }); });
  add_row("softmax_backward", [](auto& k, Rows& r) {
    each_row([&](int64_t i) { k.softmax_backward(&r.x[i], &r.dy[i], n, &r.y[i]); });
  });
  add_row("layer_norm", [](auto& k, Rows& r) {
    each_row([&](int64_t i) {
      k.layer_norm(&r.x[i], r.weight.data(), r.bias.data(), n, 1e-5f, &r.y[i], nullptr, nullptr);
    });
  });
  add_row("layer_norm_backward", [](auto& k, Rows& r) {
    each_row([&](int64_t i) {
      k.layer_norm_backward(&r.dy[i], &r.x[i], r.weight.data(), 0.1f, 1.1f, n, &r.y[i], r.sum.data(),
                            r.sum2.data());
    });
  });
  add_row("rms_norm", [](auto& k, Rows& r) {
    each_row([&](int64_t i) { k.rms_norm(&r.x[i], r.weight.data(), n, 1e-5f, &r.y[i], nullptr); });
  });
  const auto activation = [](const std::string& name, RowKernels::Forward RowKernels::*f,
                             RowKernels::Backward RowKernels::*b) {
    add_row(name, [f](auto& k, Rows& r) { (k.*f)(r.x.data(), all, r.y.data()); });
    add_row(name + "_backward", [b](auto& k, Rows& r) { (k.*b)(r.x.data(), r.dy.data(), all, r.y.data()); });
  };
  activation("relu", &RowKernels::relu, &RowKernels::relu_backward);
  activation("gelu", &RowKernels::gelu, &RowKernels::gelu_backward);
  activation("gelu_tanh", &RowKernels::gelu_tanh, &RowKernels::gelu_tanh_backward);
  activation("silu", &RowKernels::silu, &RowKernels::silu_backward);
  activation("sigmoid", &RowKernels::sigmoid, &RowKernels::sigmoid_backward);
  activation("tanh", &RowKernels::tanh, &RowKernels::tanh_backward);
  add_row("add", [](auto& k, Rows& r) { k.add(r.x.data(), r.dy.data(), all, r.y.data()); });
  add_row("dropout", [](auto& k, Rows& r) { k.dropout(r.x.data(), all, dropout_key(1, 2, 0.1f), 0, r.y.data()); });
  add_row("dropout_add", [](auto& k, Rows& r) {
    k.dropout_add(r.x.data(), r.dy.data(), all, dropout_key(1, 2, 0.1f), 0, r.y.data());
  });
  add_row("cross_entropy", [](auto& k, Rows& r) {
    benchmark::DoNotOptimize(k.cross_entropy(r.x.data(), all, 7, 0.1f, 1.0f, r.y.data()));
  });
  add_row("adam", [](auto& k, Rows& r) {
    k.adam(r.y.data(), r.m.data(), r.v.data(), r.x.data(), all,
           {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9});
  });
  add_row("sum_of_squares", [](auto& k, Rows& r) { benchmark::DoNotOptimize(k.sum_of_squares(r.x.data(), all)); });
  add_row("add_rows", [](auto& k, Rows& r) { k.add_rows(r.sum.data(), r.x.data(), Rows::count, n, n); });
  add_row("embed", [](auto& k, Rows& r) {
    each_row([&](int64_t i) { k.embed(&r.x[i], 22.6f, r.weight.data(), n, &r.y[i]); });
  });
}

// Runs before main(), which is part of Google Benchmark.
const bool added = [] {
  benchmark::AddCustomContext("isa", std::string(kernels().isa));
  benchmark::AddCustomContext("threads", std::to_string(threads()));
  add_peaks();
  add_products();
  add_rows();
  return true;
}();

}  // namespace
