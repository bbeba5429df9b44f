#include "qkv/measure/step_profile.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/instruction_set.h"
#include "qkv/model/describe_tables.h"

namespace qkv {
namespace {

constexpr std::string_view step_name = "step", other_name = "other";

struct OpRow {
  std::string op = {};
  OpPass pass = OpPass::other;
  WeightFormat numbers = WeightFormat::f32;
  int64_t calls = 0, ns = 0;
  double flops = 0, bytes = 0;
  bool is_mixed = false;  // of ops in several numbers, whose peaks differ

  void add(const OpRow& o) {
    calls += o.calls;
    ns += o.ns;
    flops += o.flops;
    bytes += o.bytes;
  }
};

std::string_view text_of(OpPass pass) {
  switch (pass) {
    case OpPass::forward: return "forward";
    case OpPass::backward: return "backward";
    case OpPass::other: return "";
  }
  return "";
}

OpRow row_of(const Profile::Span& span) {
  OpRow row = {.op = std::string(span.name == step_name ? other_name : span.name),
               .pass = span.pass,
               .numbers = span.work.numbers,
               .calls = 1,
               .ns = span.own_ns,
               .flops = span.work.flops,
               .bytes = span.work.bytes};
  if (span.work.weight.rank() == 2) row.op += fmt::format(", {} x {}", span.work.weight[0], span.work.weight[1]);
  return row;
}

// The slowest first. Rows of less than a five-hundredth of the time are one, but for that of what belongs to no op.
std::vector<OpRow> rows_of(const Profile& profile) {
  std::map<std::string, OpRow> by_key;
  for (const Profile::Span& span : profile.spans()) {
    const OpRow row = row_of(span);
    const std::string key = fmt::format("{}\t{}\t{}", row.op, text_of(row.pass), name_of(row.numbers));
    const auto [at, is_new] = by_key.emplace(key, row);
    if (!is_new) at->second.add(row);
  }
  std::vector<OpRow> rows;
  int64_t all = 0;
  for (const auto& [key, row] : by_key) {
    rows.push_back(row);
    all += row.ns;
  }
  std::ranges::stable_sort(rows, std::greater(), &OpRow::ns);
  const auto is_large = [&](const OpRow& row) { return row.ns * 500 >= all || row.op == other_name; };
  const auto small = std::ranges::stable_partition(rows, is_large).begin();
  if (rows.end() - small < 2) return rows;
  OpRow rest = {.op = fmt::format("{} rows of less than 0.2%", rows.end() - small), .is_mixed = true};
  for (auto row = small; row != rows.end(); ++row) rest.add(*row);
  rows.erase(small, rows.end());
  rows.push_back(rest);
  return rows;
}

// That of f32 where the processor has no instructions for the numbers.
double peak_of(WeightFormat numbers, const MachineSpeed& machine) {
  const double peak = numbers == WeightFormat::int8   ? machine.int8
                      : numbers == WeightFormat::bf16 ? machine.bf16
                                                      : 0;
  return peak > 0 ? peak : machine.f32;
}

struct Totals {
  int64_t steps = 1, ns = 0;
};

TableRow cells_of(const OpRow& row, const Totals& totals, const MachineSpeed& machine) {
  const auto steps = static_cast<double>(totals.steps), ns = static_cast<double>(std::max<int64_t>(row.ns, 1));
  const double gflops = row.flops / ns, gb = row.bytes / ns;
  const bool computes = row.flops > 0, has_peak = computes && !row.is_mixed, moves = row.bytes > 0;
  return {row.op,
          std::string(text_of(row.pass)),
          has_peak ? std::string(name_of(row.numbers)) : "",
          row.calls > 0 ? fmt::format("{:.3g}", static_cast<double>(row.calls) / steps) : "",
          fmt::format("{:.2f}", 1e-6 * static_cast<double>(row.ns) / steps),
          fmt::format("{:.1f}%", 100 * static_cast<double>(row.ns) / static_cast<double>(totals.ns)),
          computes ? fmt::format("{:.1f}", gflops) : "",
          has_peak ? fmt::format("{:.0f}%", 100 * gflops / peak_of(row.numbers, machine)) : "",
          moves ? fmt::format("{:.1f}", gb) : "",
          moves ? fmt::format("{:.0f}%", 100 * gb / machine.memory) : ""};
}

double microseconds(int64_t ns) { return static_cast<double>(ns) / 1000; }

Json metadata(const char* what, std::string_view name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", Json{{"name", name}}}};
}

Json event_of(const Profile::Span& span) {
  Json arguments = Json::object();
  const OpWork& work = span.work;
  const auto ns = static_cast<double>(std::max<int64_t>(span.own_ns, 1));
  arguments["own_us"] = microseconds(span.own_ns);
  if (work.flops > 0) {
    arguments["gflop"] = 1e-9 * work.flops;
    arguments["gflops_per_s"] = work.flops / ns;
    arguments["numbers"] = name_of(work.numbers);
  }
  if (work.bytes > 0) {
    arguments["bytes"] = work.bytes;
    arguments["gb_per_s"] = work.bytes / ns;
  }
  if (work.shape.rank() > 0) arguments["shape"] = to_string(work.shape);
  if (work.weight.rank() > 0) arguments["weight"] = to_string(work.weight);
  return {{"name", span.name},
          {"cat", span.pass == OpPass::other ? "other" : text_of(span.pass)},
          {"ph", "X"},
          {"ts", microseconds(span.begin_ns)},
          {"dur", microseconds(span.end_ns - span.begin_ns)},
          {"pid", 1},
          {"tid", 1},
          {"args", arguments}};
}

}  // namespace

StepProfile::Step::Step(StepProfile& profile) : profile_(profile) {
  if (profile.begun_ < profile.warmup_ || profile.is_complete()) return;
  scope_.emplace(&profile.profile_);
  span_.emplace(step_name, OpWork(), OpPass::other);
}

int64_t StepProfile::steps() const { return std::clamp<int64_t>(begun_ - warmup_, 0, steps_); }

std::string StepProfile::table(const MachineSpeed& machine) const {
  const std::vector<OpRow> ops = rows_of(profile_);
  OpRow all = {.op = "all", .is_mixed = true};
  for (const OpRow& row : ops) all.add(row);
  all.calls = 0;
  const Totals totals = {.steps = std::max<int64_t>(steps(), 1), .ns = std::max<int64_t>(all.ns, 1)};
  const std::string after = warmup_ > 0 ? fmt::format(" after {} of warm-up", warmup_) : "";
  std::string out = fmt::format(
      "{} updates of {:.1f} ms{}; {}, {} threads: f32 {:.0f} GFLOP/s, bf16 {}, memory {:.1f} GB/s\n", totals.steps,
      1e-6 * static_cast<double>(all.ns) / static_cast<double>(totals.steps), after, instruction_set(), threads(),
      machine.f32, machine.bf16 > 0 ? fmt::format("{:.0f} GFLOP/s", machine.bf16) : "none", machine.memory);
  std::vector<TableRow> rows = {
      {"op", "pass", "numbers", "calls", "ms", "time", "GFLOP/s", "of peak", "GB/s", "of memory"}};
  for (const OpRow& row : ops) rows.push_back(cells_of(row, totals, machine));
  rows.push_back(cells_of(all, totals, machine));
  return out + qkv::table(rows, {false, false, false, true, true, true, true, true, true, true});
}

std::string StepProfile::trace(std::string_view program) const {
  Json events = Json::array();
  events.push_back(metadata("process_name", program));
  events.push_back(metadata("thread_name", "training"));
  for (const Profile::Span& span : profile_.spans()) events.push_back(event_of(span));
  const Json json = {{"displayTimeUnit", "ms"},
                     {"otherData", Json{{"instruction_set", instruction_set()}, {"threads", threads()}}},
                     {"traceEvents", events}};
  return json.dump() + "\n";
}

}  // namespace qkv
