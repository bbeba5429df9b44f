#include "qkv/base/error.h"

#include "qkv/base/names.h"

namespace qkv {
namespace {

// Names of files reach messages, and files name others: no control character of theirs reaches a terminal.
std::string without_controls(std::string_view text) { return one_line(text, text.size()); }

}  // namespace

Error::Error(std::string_view op, std::string_view message)
    : std::runtime_error(without_controls(fmt::format("{}: {}", op, message))), op_(without_controls(op)) {}

}  // namespace qkv
