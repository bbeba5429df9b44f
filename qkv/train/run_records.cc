#include "qkv/train/run_records.h"

#include <chrono>
#include <string>
#include <vector>

#include "qkv/train/event_file.h"

namespace qkv {
namespace {

// Of a line of log.jsonl, a column of metrics.csv and a curve of TensorBoard.
struct Metric {
  const char *name, *tag;
};
constexpr Metric metrics[] = {
    {"epoch", "train/epoch"},
    {"loss", "train/loss"},
    {"learning_rate", "train/learning_rate"},
    {"grad_norm", "train/grad_norm"},
    {"tokens_per_s", "train/tokens_per_s"},
    {"seconds", nullptr},
    {"valid_loss", "valid/loss"},
    {"valid_perplexity", "valid/perplexity"},
    {"valid_bleu", "valid/bleu"},
    {"valid_accuracy", "valid/accuracy"},
};

bool is_measured(const Json& line) { return line.contains("loss") || line.contains("valid_loss"); }

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

RunRecords::RunRecords(const RecordFiles& files, const RecordBytes& bytes)
    : log_(files.log, bytes.log), metrics_(files.metrics, bytes.metrics), unused_events_(bytes.events) {
  if (metrics_.bytes() == 0) {
    std::string header = "step";
    for (const Metric& metric : metrics) header += std::string(",") + metric.name;
    metrics_.write(header);
  }
  if (files.events.empty()) return;
  events_.emplace(files.events, bytes.events);
  if (events_->bytes() == 0) events_->append(event_file_start(now()));
}

void RunRecords::write(const Json& line) {
  log_.write(line.dump());
  if (!is_measured(line)) return;
  write_metrics(line);
  if (events_) write_event(line);
}

void RunRecords::write_metrics(const Json& line) {
  std::string row = line.value("step").dump();
  for (const Metric& metric : metrics) {
    row += ',';
    if (const Json* value = line.find(metric.name)) row += value->dump();
  }
  metrics_.write(row);
}

void RunRecords::write_event(const Json& line) {
  std::vector<EventScalar> scalars;
  for (const Metric& metric : metrics)
    if (const Json* value = line.find(metric.name); value && metric.tag)
      scalars.push_back({metric.tag, value->get<double>()});
  events_->append(scalar_event(line.at("step").get<int64_t>(), now(), scalars));
}

void RunRecords::force() {
  log_.force();
  metrics_.force();
  if (events_) events_->force();
}

RecordBytes RunRecords::bytes() const {
  return {.log = log_.bytes(), .metrics = metrics_.bytes(), .events = events_ ? events_->bytes() : unused_events_};
}

}  // namespace qkv
