// log.jsonl: one JSON object a line, each written whole before the training goes on. A checkpoint knows how long
// the log was; a training that goes on from it cuts the log there, so that no line is lost or doubled.
//
//     RunLog log("model/training/log.jsonl", state.log_bytes);
//     log.write(R"({"step": 100, "loss": 3.2})");
//     log.force();                                       // onto the disk, before the checkpoint that counts on it
//
// Every failure is an InputError that names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace qkv {

class RunLog {
 public:
  // Keeps the first `bytes` bytes of the file (all of it, if it is shorter) and makes it if there is none.
  RunLog(const std::filesystem::path& path, int64_t bytes);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void write(const std::string& line);
  void force();
  int64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail_with(int error) const;

  std::string path_;
  int file_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace qkv
