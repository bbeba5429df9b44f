// YAML of untrusted files. Callers include <yaml-cpp/yaml.h>.
//
//     const YAML::Node root = parse_yaml(read_file("vocab.yml"), "vocab.yml");
//
// Errors: InputError, "vocab.yml: this is not YAML: line 7, column 15: illegal map value".
#pragma once

#include <string>

namespace YAML {
class Node;
}  // namespace YAML

namespace qkv {

YAML::Node parse_yaml(const std::string& text, const std::string& where);

}  // namespace qkv
