#include "qkv/base/version.h"

#include <string>

namespace qkv {

std::string_view version() {
  static const std::string text = std::to_string(QKV_VERSION_MAJOR) + "." + std::to_string(QKV_VERSION_MINOR) +
                                  "." + std::to_string(QKV_VERSION_PATCH);
  return text;
}

}  // namespace qkv
