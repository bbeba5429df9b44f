#include "qkv/published/marian/yaml.h"

#include <yaml-cpp/yaml.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {

YAML::Node parse_yaml(const std::string& text, const std::string& where) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line + 1, column = error.mark.column + 1;
    fail<InputError>(where, "this is not YAML: line {}, column {}: {}", line, column, one_line(error.msg));
  }
}

}  // namespace qkv
