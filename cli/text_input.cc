#include "cli/text_input.h"

#include <unistd.h>

#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/text/bytes.h"

namespace qkv::cli {
namespace {

LineReader given_lines(const TextInput& input) {
  std::string text;
  for (const std::string& line : input.given) {
    require<UsageError>(line.find('\n') == line.npos, "qkv " + input.command,
                        "'{}' has a line break: give each line as an argument of its own, or --input FILE",
                        one_line(line, 60));
    text += line + "\n";
  }
  return {string_bytes(std::move(text)), "argument"};
}

}  // namespace

LineReader open_lines(const TextInput& input) {
  require<UsageError>(input.given.empty() || input.input == "-", "qkv " + input.command,
                      "give {} as arguments or by --input, not both", input.what);
  if (!input.given.empty()) return given_lines(input);
  if (input.input == "-" && !input.quiet && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1)
    say(fmt::format("reading {} from the terminal, one per line; Ctrl-D ends", input.what));
  return LineReader(input.input);
}

Option* texts_argument(App& app, std::vector<std::string>& texts, const std::string& help,
                       const std::string& unit) {
  return app.add_arguments("texts", texts, help)->type_name(unit);
}

}  // namespace qkv::cli
