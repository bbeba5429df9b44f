// Failures injected into a process by the preloaded library fault_library.cc: which call fails, when, and how.
//
//     FaultPlan plan{.folder = "/tmp/x", .call = Call::write, .at = 3, .error = ENOSPC};
//     const Outcome outcome = run_command({QKV_COMMAND, "train", ...}, {.faults = plan});
//     outcome.report.calls[index_of(Call::write)];        // the number of writes
//
// Calls on files count when they are about a path in the folder or a descriptor opened there, threads wherever they
// are created. An allocation is `allocate` when the program's own code calls operator new; `malloc` counts those of
// all libraries too, some of which do not survive a failure. All count from the first line of main() to its return.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace qkv {

enum class Call {
  open,
  read,
  write,
  fsync,
  rename,
  truncate,
  unlink,
  mkdir,
  stat,
  mmap,
  close,
  allocate,
  malloc,
  thread
};

inline constexpr std::array<const char*, 14> call_names = {"open",     "read",     "write",  "fsync", "rename",
                                                           "truncate", "unlink",   "mkdir",  "stat",  "mmap",
                                                           "close",    "allocate", "malloc", "thread"};

constexpr size_t index_of(Call call) { return static_cast<size_t>(call); }

inline constexpr int kill_process = 0;  // an "error": kill -9 instead of the call

struct FaultPlan {
  std::string folder = {};  // empty: where the command runs
  Call call = Call::open;
  int64_t at = 0;            // the number of the call that fails, from 1; 0: none
  int error = kill_process;  // errno
  bool lasting = false;      // every later call of this kind fails too
  int64_t disk_bytes =
      -1;  // writes beyond this total fail with `error`, the one that reaches it is short; -1: no limit
};

// Filled by the library, in shared memory.
struct FaultReport {
  std::array<std::atomic<int64_t>, call_names.size()> calls;
  std::atomic<int64_t> written;   // bytes
  std::atomic<int64_t> injected;  // failures
};

// Environment variables that pass the plan to the library.
namespace fault_variable {
inline constexpr const char* folder = "QKV_FAULT_FOLDER";
inline constexpr const char* report = "QKV_FAULT_REPORT";  // a descriptor of the shared memory
inline constexpr const char* call = "QKV_FAULT_CALL";      // index_of()
inline constexpr const char* at = "QKV_FAULT_AT";
inline constexpr const char* error = "QKV_FAULT_ERROR";
inline constexpr const char* lasting = "QKV_FAULT_LASTING";
inline constexpr const char* disk_bytes = "QKV_FAULT_DISK_BYTES";
}  // namespace fault_variable

}  // namespace qkv
