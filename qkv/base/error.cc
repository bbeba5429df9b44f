#include "qkv/base/error.h"

#include "qkv/base/names.h"

namespace qkv {

// Names of files reach messages, and files name others: no control character of theirs reaches a terminal.
Error::Error(std::string_view op, std::string_view message)
    : std::runtime_error(one_line(fmt::format("{}: {}", op, message), std::string::npos)), op_(op) {}

}  // namespace qkv
