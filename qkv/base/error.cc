#include "qkv/base/error.h"

namespace qkv {

Error::Error(std::string_view op, std::string_view message)
    : std::runtime_error(fmt::format("{}: {}", op, message)), op_(op) {}

}  // namespace qkv
