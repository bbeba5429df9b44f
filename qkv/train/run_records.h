// What a training records, line by line, in up to three files: log.jsonl with everything, metrics.csv with the numbers of
// reports and validations as a table, and an event file of TensorBoard.
//
//     RunRecords records({.log = "m/training/log.jsonl", .metrics = "m/training/metrics.csv"}, state.records);
//     records.write({{"step", 100}, {"loss", 3.2}});
//     records.force();                              // fsync, before the checkpoint that refers to records.bytes()
//
// A checkpoint stores the lengths of the files; a resumed training truncates them to these (train/run_log.h).
#pragma once

#include <filesystem>
#include <optional>

#include "qkv/base/json.h"
#include "qkv/train/run_log.h"

namespace qkv {

struct RecordBytes {
  int64_t log = 0, metrics = 0, events = 0;
};

struct RecordFiles {
  std::filesystem::path log, metrics;
  std::filesystem::path events = {};  // empty: none
};

class RunRecords {
 public:
  RunRecords(const RecordFiles& files, const RecordBytes& bytes);

  void write(const Json& line);
  void force();
  RecordBytes bytes() const;

 private:
  void write_metrics(const Json& line);
  void write_event(const Json& line);

  RunLog log_, metrics_;
  std::optional<RunLog> events_;
  int64_t unused_events_;  // the length of a file that this training does not write
};

}  // namespace qkv
