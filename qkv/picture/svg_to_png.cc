#include "qkv/picture/svg_to_png.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "qkv/base/error.h"

extern char** environ;

namespace qkv {
namespace {

// A file without a name, so that nothing is left behind. Unlike a pipe it cannot block, nor raise SIGPIPE.
class NamelessFile {
 public:
  NamelessFile() : file_(std::tmpfile()) {
    require<InputError>(file_ != nullptr, "png", "cannot make a temporary file: {}", std::strerror(errno));
  }

  void write(const std::string& bytes) {
    const bool done = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size() &&
                      std::fflush(file_.get()) == 0 && ::lseek(descriptor(), 0, SEEK_SET) == 0;
    require<InputError>(done, "png", "cannot write a temporary file: {}", std::strerror(errno));
  }

  std::string read() {
    std::string out;
    std::rewind(file_.get());
    char part[1 << 16];
    while (const size_t size = std::fread(part, 1, sizeof part, file_.get())) out.append(part, size);
    require<InputError>(std::ferror(file_.get()) == 0, "png", "cannot read a temporary file: {}",
                        std::strerror(errno));
    return out;
  }

  int descriptor() const { return ::fileno(file_.get()); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

// Runs a program to its end, with files in place of its standard streams, and returns its exit status.
int run_program(const std::string& program, const std::string& zoom, const NamelessFile& in,
                const NamelessFile& out, const NamelessFile& messages) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, messages.descriptor(), STDERR_FILENO);
  const std::string arguments[] = {program, "--format=png", "--unlimited", "--zoom=" + zoom};
  char* list[] = {const_cast<char*>(arguments[0].c_str()), const_cast<char*>(arguments[1].c_str()),
                  const_cast<char*>(arguments[2].c_str()), const_cast<char*>(arguments[3].c_str()), nullptr};
  pid_t child = 0;
  const int code = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, list, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  require<InputError>(code != ENOENT, "png",
                      "a .png is drawn by {}, which is not installed (Debian: librsvg2-bin); .svg, .html and .json "
                      "need no other program",
                      program);
  require<InputError>(code == 0, "png", "cannot run {}: {}", program, std::strerror(code));
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  require<InputError>(ended == child, "png", "cannot wait for {}: {}", program, std::strerror(errno));
  return status;
}

}  // namespace

std::string svg_to_png(const std::string& svg, const PngOptions& options) {
  NamelessFile in, out, messages;
  in.write(svg);
  const int status = run_program(options.program, fmt::format("{:g}", options.zoom), in, out, messages);
  std::string bytes = out.read();
  if (status == 0 && bytes.starts_with("\x89PNG")) return bytes;
  std::string said = messages.read();
  said.erase(said.find_last_not_of("\n ") + 1);
  fail<InputError>("png", "{} failed: {}", options.program, said.empty() ? "it says nothing" : said);
}

}  // namespace qkv
