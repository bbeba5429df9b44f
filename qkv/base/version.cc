#include "qkv/base/version.h"

namespace qkv {

std::string_view version() { return QKV_VERSION; }

}  // namespace qkv
