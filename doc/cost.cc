// The cost tables of the pages in doc/.
//
//     cost doc/measured.tsv          # prints them: counts computed here, times from the file
//     cost --measure [PAGE...]       # measures times: lines for that file, call TAB forward TAB backward
//
// Times are in milliseconds, f32, all threads: "median (lower quartile-upper quartile)" of nine runs. A row without times is an
// error: its call was renamed, or never measured.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>

#include "doc/mechanisms.h"
#include "qkv/attention/explain.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace {

using namespace qkv;
using namespace qkv::doc;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

Variable leaf(const AttentionShape& n, int64_t heads, int64_t rows, uint64_t stream, bool requires_grad) {
  return Variable(normal({n.B, heads, rows, n.D}, stream), {.requires_grad = requires_grad});
}

const Mechanism plain = {"", [](const Variable&) { return AttentionOptions{}; }};

AttentionPlan plan_of(const Mechanism& m) {
  const AttentionShape& n = m.shape;
  const Tensor one = Tensor::zeros({1, 1, 1, 1});  // only the shapes matter
  const Tensor q = one.expand({n.B, n.H, n.T, n.D}), k = one.expand({n.B, n.G, n.S, n.D});
  return attention_plan(q, k, k, m.options(q.contiguous_copy()));
}

std::string size_of_call(const AttentionShape& n) {
  return fmt::format("B {}, H {}, G {}, T {}, S {}, D {}", n.B, n.H, n.G, n.T, n.S, n.D);
}

std::string call_of(const Mechanism& m, const AttentionPlan& plan) {
  if (!m.transform) return plan.call;
  const std::string plain_start = "attention(q, k, ";
  return fmt::format("attention({0}(q), {0}(k), {1}", m.transform_name, plan.call.substr(plain_start.size()));
}

// Identifies a row in the file of times.
std::string name_of(const Mechanism& m, const AttentionPlan& plan) {
  return call_of(m, plan) + " " + size_of_call(m.shape);
}

constexpr int repeats = 9;

// "12.3 (12.1-12.9)"; empty without runs.
std::string summary(std::vector<double> runs) {
  if (runs.empty()) return "";
  std::ranges::sort(runs);
  return fmt::format("{:.3g} ({:.3g}-{:.3g})", runs[repeats / 2], runs[repeats / 4],
                     runs[repeats - 1 - repeats / 4]);
}

void measure(const Mechanism& m) {
  const AttentionShape& n = m.shape;
  std::vector<double> forward, backward;
  for (int i = 0; i <= repeats; ++i) {  // the first is a warm-up
    const Variable q = leaf(n, n.H, n.T, 1, true), k = leaf(n, n.G, n.S, 2, true), v = leaf(n, n.G, n.S, 3, true);
    const AttentionOptions options = m.options(q);
    const auto call = [&] {
      return m.transform ? attention(m.transform(q), m.transform(k), v, options) : attention(q, k, v, options);
    };
    {
      const NoGrad off;
      call();  // masks build their block maps for a shape once
      const auto start = Clock::now();
      call();
      if (i > 0) forward.push_back(milliseconds(start));
    }
    if (n.T == 1) continue;  // decoding has no backward
    const Variable out = call();
    const Tensor upstream = normal(out.shape(), 4);
    const auto start = Clock::now();
    out.backward(upstream);
    if (i > 0) backward.push_back(milliseconds(start));
  }
  fmt::print("{}\t{}\t{}\n", name_of(m, plan_of(m)), summary(forward), summary(backward));
  std::fflush(stdout);
}

struct Times {
  std::string forward, backward;
};

// The first line is the machine.
std::map<std::string, Times> read_times(const char* path, std::string& machine) {
  std::istringstream text(read_file(path));
  std::getline(text, machine);
  std::map<std::string, Times> times;
  for (std::string line, name; std::getline(text, line);) {
    std::istringstream fields(line);
    Times row;
    std::getline(fields, name, '\t');
    std::getline(fields, row.forward, '\t');
    std::getline(fields, row.backward, '\t');
    times[name] = row;
  }
  return times;
}

std::string scaled(double x) {
  std::string_view prefix = "";
  for (const std::string_view next : {" k", " M", " G", " T"}) {
    if (x < 999.5) break;
    x /= 1000;
    prefix = next;
  }
  return fmt::format("{:.3g}{}", x, prefix);
}

// For a table cell.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

// "12.3 ms (12.1-12.9)"
std::string in_milliseconds(const std::string& time) {
  const size_t end = std::min(time.find(' '), time.size());
  return time.empty() ? time : time.substr(0, end) + " ms" + time.substr(end);
}

// The axes in which the shape of a row differs from that of the first row.
std::string difference(const AttentionShape& n, const AttentionShape& first) {
  std::string out;
  if (n.H != first.H) out += fmt::format(", H {}", n.H);
  if (n.G != first.G && n.G != n.H) out += fmt::format(", G {}", n.G);
  if (n.D != first.D) out += fmt::format(", D = E = {}", n.D);
  return out;
}

void print_row(const Mechanism& m, const AttentionShape& first, const std::map<std::string, Times>& times) {
  const AttentionPlan plan = plan_of(m);
  const auto at = times.find(name_of(m, plan));
  require<InputError>(at != times.end(), "doc/measured.tsv",
                      "no times of {}; build/doc/cost --measure {} measures them", name_of(m, plan), m.page);
  const Times& row = at->second;
  fmt::print("| `{}`{} | {:.3g} % | {} | {} | {} | {} |\n", escaped(call_of(m, plan)), difference(m.shape, first),
             100.0 * static_cast<double>(plan.visible_pairs) / static_cast<double>(plan.pairs), scaled(plan.flops),
             scaled(static_cast<double>(plan.bytes)), in_milliseconds(row.forward), in_milliseconds(row.backward));
}

// Before every table, a line with the name of the page.
void print_tables(const char* path) {
  std::string machine;
  const std::map<std::string, Times> times = read_times(path, machine);
  std::map<std::string, std::vector<Mechanism>> pages;
  for (const Mechanism& m : mechanisms()) pages[m.page].push_back(m);
  for (const auto& [page, rows] : pages) {
    fmt::print(
        "== {}\n| call | visible pairs | FLOP | bytes | forward | backward |\n"
        "| --- | --: | --: | --: | --: | --: |\n",
        page);
    const AttentionShape n = rows[0].shape;
    if (size_of_call(n) == size_of_call(plain.shape) && call_of(rows[0], plan_of(rows[0])) != plan_of(plain).call)
      print_row(plain, n, times);
    for (const Mechanism& m : rows) print_row(m, n, times);
    fmt::print(
        "\nB {}, H {}, T {}, S {}, D = E = {}, f32. FLOP of the forward, over visible pairs, and bytes of q, k, v "
        "and\n"
        "out, as `explain` counts them. Times: `build/doc/cost --measure {}`, the median of nine and its "
        "quartiles,\n"
        "{}.\n",
        n.B, n.H, n.T, n.S, n.D, page, machine);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return std::fputs("cost FILE | cost --measure [PAGE...]\n", stderr), 2;
  if (arguments[0] != "--measure") try {
      return print_tables(argv[1]), 0;
    } catch (const Error& e) {
      return fmt::print(stderr, "{}\n", e.what()), 1;
    }
  for (const Mechanism& m : mechanisms())
    if (arguments.size() == 1 || std::find(arguments.begin() + 1, arguments.end(), m.page) != arguments.end())
      measure(m);
}
