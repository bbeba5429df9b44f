// A file that is written in order, of answers to the lines of an input, and that a process continues where another one was
// killed.
//
//     ResumableFile out("out.txt", R"({"command": "translate", "beam": "4"})");
//     if (out.complete()) return;                            // by an earlier process
//     skip(input, out.lines());
//     out.append(text, 64);                                  // the answers of 64 more lines: safe when it returns
//     out.commit();                                          // out.txt appears
//
// Beside out.txt are out.txt.part, what was written so far, and out.txt.journal: the key, a line of text that says what
// made the bytes, then LINES BYTES after each append, and "end LINES BYTES" at commit(). An append is synced to disk
// before its row is written, so a row is true whatever is killed and when; bytes after the last row are dropped. The journal
// stays: it says that out.txt is complete. A file from before at out.txt keeps its bytes until commit(), and
// nothing is left of one without an append.
//
// Errors, InputErrors: the journal of a file that has lines has another key: the answers of two commands would be mixed; out.txt.part is
// there without a journal, or out.txt has other bytes than its journal says: someone else's; another process, which may be on
// another machine if the file system has locks, writes the same file; out.txt is not a regular file. FileError for what the
// system refuses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace qkv {

class Descriptor;

class ResumableFile {
 public:
  ResumableFile(const std::filesystem::path& path, const std::string& key);
  ~ResumableFile();
  ResumableFile(const ResumableFile&) = delete;
  ResumableFile& operator=(const ResumableFile&) = delete;

  bool complete() const { return complete_; }
  int64_t lines() const { return lines_; }  // answered before and since
  void append(std::string_view bytes, int64_t lines);
  void commit();

 private:
  void open_journal();
  void read_journal(const std::string& key);
  void begin_journal(const std::string& key);
  void open_part();
  bool take_rows(std::string_view rows);
  bool take_output(int64_t lines, int64_t bytes);
  void finish();

  std::filesystem::path path_, target_, part_path_, journal_path_;  // the target: links followed
  std::unique_ptr<Descriptor> journal_, part_;
  int64_t lines_ = 0, bytes_ = 0;
  bool complete_ = false;
};

}  // namespace qkv
