#include "test/faults/command.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qkv/base/error.h"

extern char** environ;

namespace qkv {
namespace {

constexpr rlim_t max_memory = rlim_t{4} << 30;

int memory_file(const char* name, bool inherited) {
  const int file = ::memfd_create(name, inherited ? 0 : MFD_CLOEXEC);
  require(file >= 0, "memfd_create", "{}", std::strerror(errno));
  return file;
}

std::string contents(int file) {
  std::string bytes(static_cast<size_t>(::lseek(file, 0, SEEK_END)), '\0');
  require(::pread(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "pread", "{}",
          std::strerror(errno));
  return bytes;
}

std::map<std::string, std::string> environment_of(const CommandOptions& options, int report) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != text.npos) all[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  all["OMP_NUM_THREADS"] = std::to_string(2);
  for (const auto& [name, value] : options.environment) all[name] = value;
  if (!options.preload.empty()) all["LD_PRELOAD"] = options.preload;
  if (!options.faults) return all;
  const FaultPlan& plan = *options.faults;
  all["LD_PRELOAD"] = QKV_FAULT_LIBRARY;
  all[fault_variable::folder] = plan.folder.empty() ? options.folder : plan.folder;
  all[fault_variable::report] = std::to_string(report);
  all[fault_variable::call] = std::to_string(index_of(plan.call));
  all[fault_variable::at] = std::to_string(plan.at);
  all[fault_variable::error] = std::to_string(plan.error);
  all[fault_variable::lasting] = std::to_string(plan.lasting);
  all[fault_variable::disk_bytes] = std::to_string(plan.disk_bytes);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void limit(int resource, rlim_t most) {
  const struct rlimit both = {most, most};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

}  // namespace

RunningCommand::RunningCommand(const std::vector<std::string>& arguments, const CommandOptions& options) {
  output_ = memory_file("output", false);
  error_ = memory_file("error", false);
  if (options.faults) {
    report_file_ = memory_file("report", true);
    require(::ftruncate(report_file_, sizeof(FaultReport)) == 0, "ftruncate", "{}", std::strerror(errno));
    void* const shared = ::mmap(nullptr, sizeof(FaultReport), PROT_READ | PROT_WRITE, MAP_SHARED, report_file_, 0);
    require(shared != MAP_FAILED, "mmap", "{}", std::strerror(errno));
    report_ = static_cast<FaultReport*>(shared);
  }
  // All memory is allocated before the fork: the child only makes system calls.
  std::vector<std::string> words = {QKV_COMMAND}, settings;
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (const auto& [name, value] : environment_of(options, report_file_))
    settings.push_back(fmt::format("{}={}", name, value));
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(settings);
  process_ = ::fork();
  require(process_ >= 0, "fork", "{}", std::strerror(errno));
  if (process_ > 0) return;
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(output_, STDOUT_FILENO);
  ::dup2(error_, STDERR_FILENO);
  // The parent of the tests may ignore these signals, as nohup does.
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
  limit(RLIMIT_AS, max_memory);
  limit(RLIMIT_CORE, 0);
  ::alarm(options.seconds);
  if (options.folder.empty() || ::chdir(options.folder.c_str()) == 0) ::execve(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

RunningCommand::~RunningCommand() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  for (const int file : {output_, error_, report_file_})
    if (file >= 0) ::close(file);
  if (report_ != nullptr) ::munmap(report_, sizeof(FaultReport));
}

Outcome RunningCommand::wait() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0) require(errno == EINTR, "waitpid", "{}", std::strerror(errno));
  process_ = -1;
  Outcome o;
  (WIFEXITED(status) ? o.code : o.signal) = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  o.output = contents(output_);
  o.error = contents(error_);
  if (report_ == nullptr) return o;
  for (size_t i = 0; i < o.calls.size(); ++i) o.calls[i] = report_->calls[i];
  o.written = report_->written;
  o.injected = report_->injected;
  return o;
}

Outcome run_command(const std::vector<std::string>& arguments, const CommandOptions& options) {
  return RunningCommand(arguments, options).wait();
}

}  // namespace qkv
