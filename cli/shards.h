// --shards K --shard i: one of K processes that answer the lines of one file, each its part, into a file that is
// continued where a killed process stopped.
//
//     Shards shards;                                                  // of the command; shards.add_flags(app)
//     const auto file = shards.open_output({.command = "translate", .model = model, .input = input, .output = output});
//     if (file && file->complete()) return shards.report_complete();
//     LineReader lines = file ? shards.open_lines(input, *file) : open_lines(...);
//
// What text/shard.h and base/resumable_file.h promise: outputs of the shards one after another are that of the whole
// file, whatever K is and whatever was killed. The key of a shard's journal is JSON: version, command, flags that change
// answers, a digest of the model, the size of the input, the shard. UsageError for a shard that is not one of them, and
// for standard input or output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/app.h"
#include "qkv/base/resumable_file.h"
#include "qkv/text/corpus.h"
#include "qkv/text/shard.h"

namespace qkv::cli {

struct ShardedCommand {
  std::string command, model, input, output;
};

class Shards {
 public:
  void add_flags(App& app);

  bool given() const;
  // None unless they are given.
  std::unique_ptr<ResumableFile> open_output(const ShardedCommand& command) const;
  int report_complete(const std::string& output, bool quiet) const;  // the exit code
  LineReader open_lines(const std::string& input, const ResumableFile& file) const;
  CorpusReader open_pairs(const std::string& input, const ResumableFile& file) const;
  double json_progress() const { return json_progress_; }

 private:
  void check(const ShardedCommand& command) const;
  std::string key(const ShardedCommand& command) const;
  FileShard shard() const { return {.count = shards_, .index = shard_}; }

  App* app_ = nullptr;
  Option* shard_flag_ = nullptr;
  int64_t shards_ = 0, shard_ = 0;
  double json_progress_ = 0;
};

}  // namespace qkv::cli
