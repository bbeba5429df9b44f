// Speed of attention() on the table of attention_cases.h.
//
//     attention_bench                                                    # every case, both directions, f32
//     attention_bench --case causal_2k_d64 --dtype bf16 --direction backward --repeat 20 --json
//     attention_bench --list --json                                      # the cases and their shapes
//     attention_bench --serve --case NAME ...                            # one JSON line per line of input
//
// FLOPs are counted over visible pairs: forward 2 (D + E) per pair and head, for an additive score 4 per feature;
// backward 2.5 times as many.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/attention_cases.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/peak.h"

namespace {

using namespace qkv;
using namespace qkv::bench;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

struct Measurement {
  double fastest, median, gflops;
};

class Timing {
 public:
  Timing(const Case& c, DType dtype, bool backward)
      : case_(c),
        backward_(backward),
        q_(normal({c.B, c.H, c.T, c.D}, 0).to(dtype), {.requires_grad = backward}),
        k_(normal({c.B, c.G, c.S, c.D}, 1).to(dtype), {.requires_grad = backward}),
        v_(normal({c.B, c.G, c.S, c.D}, 2).to(dtype), {.requires_grad = backward}),
        upstream_(normal({c.B, c.H, c.T, c.D}, 3).to(dtype)),
        call_(call_of(c, backward)),
        flops_(plan_of(c).flops * (backward ? 2.5 : 1.0)) {}

  // Milliseconds of one run.
  double once() {
    if (!backward_) {
      const auto start = Clock::now();
      const Tensor out = attention(q_.value(), k_.value(), v_.value(), call_.options);
      return milliseconds(start);
    }
    for (Variable* x : {&q_, &k_, &v_}) x->zero_grad();
    for (Variable& x : call_.parameters) x.zero_grad();
    const Variable out = attention(q_, k_, v_, call_.options);
    const auto start = Clock::now();
    out.backward(upstream_);
    return milliseconds(start);
  }

  Measurement measure(int repeat) {
    once();
    std::vector<double> times(static_cast<size_t>(repeat));
    for (double& t : times) t = once();
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    return {times[0], median, flops_ / median * 1e-6};
  }

  Json report(int repeat) {
    const Measurement m = measure(repeat);
    return {{"case", case_.name},
            {"dtype", q_.value().dtype() == DType::bf16 ? "bf16" : "fp32"},
            {"direction", backward_ ? "backward" : "forward"},
            {"ms_min", m.fastest},
            {"ms_median", m.median},
            {"gflops", m.gflops},
            {"kernel", kernel::kernels().isa},
            {"threads", threads()}};
  }

 private:
  const Case& case_;
  bool backward_;
  Variable q_, k_, v_;
  Tensor upstream_;
  BenchCall call_;
  double flops_;
};

// The mask of a case as numbers, for the Python programs that compare with other engines.
void add_mask(const Case& c, Json& out) {
  switch (c.pattern) {
    case Pattern::full: return;
    case Pattern::additive: out["features"] = c.D; return;
    case Pattern::longformer:
      out["radius"] = longformer_radius;
      out["global"] = longformer_global;
      return;
    case Pattern::causal: break;
    case Pattern::window: out["window"] = window_keys; break;
    case Pattern::documents: out["documents"] = document_lengths; break;
    case Pattern::alibi: out["slopes"] = alibi_slopes(c.H); break;
    case Pattern::padding: out["lengths"] = padding_lengths; return;
    case Pattern::bigbird: {
      const Tensor table = bigbird_table(c.T);
      const int64_t n = table.dim(3);
      for (int64_t i = 0; i < n; ++i) {
        const uint8_t* row = table.data<uint8_t>() + i * n;
        out["blocks"].push_back(std::vector<int>(row, row + n));
      }
      out["block"] = bigbird_block;
      return;
    }
  }
  out["causal"] = true;
}

void list(bool json) {
  Json all = Json::array();
  for (const Case& c : cases()) {
    const int64_t pairs = plan_of(c).visible_pairs / c.H;
    if (json) {
      all.push_back({{"case", c.name},
                     {"B", c.B},
                     {"H", c.H},
                     {"G", c.G},
                     {"T", c.T},
                     {"S", c.S},
                     {"D", c.D},
                     {"visible_pairs", pairs}});
      add_mask(c, all.back());
    } else {
      fmt::print("{:20} B{} H{} G{} T{} S{} D{}, {} visible pairs per head\n", c.name, c.B, c.H, c.G, c.T, c.S, c.D,
                 pairs);
    }
  }
  if (json) std::cout << all.dump() << "\n";
}

void print(const Json& r, bool json) {
  if (json) {
    std::cout << r.dump() << std::endl;
    return;
  }
  fmt::print("{:20} {} {:8} {:9.3f} ms (min {:9.3f})  {:7.1f} GFLOP/s  {} {} threads\n",
             r["case"].get<std::string>(), r["dtype"].get<std::string>(), r["direction"].get<std::string>(),
             r["ms_median"].get<double>(), r["ms_min"].get<double>(), r["gflops"].get<double>(),
             r["kernel"].get<std::string>(), r["threads"].get<int>());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  CLI::App app("Times attention() on a table of shapes and masks.");
  std::vector<std::string> names, dtypes = {"fp32"}, directions = {"forward", "backward"};
  int repeat = 10;
  bool json = false, serve = false, only_list = false, peak = false;
  app.add_option("--case", names, "cases to time; default: all of them");
  app.add_option("--dtype", dtypes, "fp32, bf16")->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--direction", directions, "forward, backward")->check(CLI::IsMember({"forward", "backward"}));
  app.add_option("--repeat", repeat, "passes to time")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--json", json, "one JSON object per line");
  app.add_flag("--list", only_list, "print the cases, time nothing");
  app.add_flag("--peak", peak, "print the peak rate of the multiply-add units, time nothing");
  app.add_flag("--serve", serve, "make one measurement of the given case for every line on stdin");
  CLI11_PARSE(app, argc, argv);

  if (only_list) return list(json), 0;
  if (peak) {
    const Json p = {
        {"fp32_gflops", kernel::peak_f32()}, {"bf16_gflops", kernel::peak_bf16()}, {"threads", threads()}};
    return std::cout << p.dump() << "\n", 0;
  }
  for (const std::string& name : names) {
    if (std::none_of(cases().begin(), cases().end(), [&](const Case& c) { return c.name == name; })) {
      std::cerr << "attention_bench: there is no case '" << name << "'; --list shows them\n";
      return 2;
    }
  }
  for (const Case& c : cases()) {
    if (!names.empty() && std::find(names.begin(), names.end(), c.name) == names.end()) continue;
    for (const std::string& dtype : dtypes) {
      for (const std::string& direction : directions) {
        if (direction == "backward" && c.T == 1) continue;  // decoding has no backward
        Timing timing(c, dtype == "bf16" ? DType::bf16 : DType::f32, direction == "backward");
        if (!serve) {
          print(timing.report(repeat), json);
          continue;
        }
        for (std::string line; std::getline(std::cin, line);) print(timing.report(repeat), true);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "attention_bench: " << e.what() << "\n";
    return 1;
  }
}
