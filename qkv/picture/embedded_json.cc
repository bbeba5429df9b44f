#include "qkv/picture/embedded_json.h"

namespace qkv {

std::string embedded_json(const Json& data) {
  std::string out;
  for (const char c : data.dump({.ascii = true, .replace_invalid = true})) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace qkv
