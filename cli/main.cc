// qkv: train a Transformer, translate with it, look at its attention. Data goes to stdout, messages to stderr.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <new>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/program.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"

namespace qkv::cli {
namespace {

// The descriptor of a standard stream that the caller closed must not be reused by a file that is opened later.
// Opened in the wrong direction, reading or writing it is still an error.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace
}  // namespace qkv::cli

int main(int argc, char** argv) {
  using namespace qkv;
  cli::occupy_standard_streams();
  const auto run = [&] {
    const int code = cli::run_program(argc > 0 ? argv[0] : "qkv", {argv + std::min(argc, 1), argv + argc});
    if (std::fflush(stdout) != 0) throw FileError("write", "standard output", errno);
    return code;
  };
  try {
    return run();
  } catch (const UsageError& e) {
    cli::say(e.what());
    return cli::wrong_usage;
  } catch (const FileError& e) {
    if (e.code() == EPIPE) return cli::closed_pipe;
    cli::say(e.what());
  } catch (const std::system_error& e) {
    if (e.code().value() == EPIPE) return cli::closed_pipe;
    const bool no_thread = e.code() == std::errc::resource_unavailable_try_again;
    cli::say(fmt::format("qkv: {}{}", no_thread ? "cannot create a thread: " : "", e.what()));
  } catch (const std::bad_alloc&) {
    cli::say("qkv: out of memory");
  } catch (const std::exception& e) {
    cli::say(e.what());
  }
  return cli::bad_input;
}
