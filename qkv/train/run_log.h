// log.jsonl: one JSON object per line, each written before the training continues. A checkpoint stores the length of
// the log; a resumed training truncates the log to it, so that no line is lost or repeated.
//
//     RunLog log("model/training/log.jsonl", state.log_bytes);
//     log.write(R"({"step": 100, "loss": 3.2})");
//     log.force();                              // fsync, before the checkpoint that refers to its length
//
// Every failure is an InputError that names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace qkv {

class RunLog {
 public:
  // Truncates the file to at most `bytes` bytes, and creates it if there is none.
  RunLog(const std::filesystem::path& path, int64_t bytes);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void write(const std::string& line);  // and its end
  void append(std::string_view bytes);
  void force();
  int64_t bytes() const { return bytes_; }

 private:
  [[noreturn]] void fail_with(int error) const;

  std::string path_;
  int file_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace qkv
