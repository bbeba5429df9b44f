// Damage to one file of a model folder, as caused by disks, transfers, people and attackers: values of the wrong type,
// sizes that do not match the data, parts of another tokenizer.
//
//     Damage damage(7);                                       // which one is a function of the number
//     std::string what = damage.to("model");                  // "config.json: a value is null"
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "qkv/base/random.h"

namespace qkv::test {

class Damage {
 public:
  explicit Damage(uint64_t number) : random_(number) {}
  // A description of the damage.
  std::string to(const std::filesystem::path& folder);

 private:
  using Json = nlohmann::ordered_json;

  std::string change_bytes(const std::filesystem::path& file);
  std::string change_json(const std::filesystem::path& file);
  std::string change_header(const std::filesystem::path& file);
  std::string change_size(const std::filesystem::path& file);
  std::string change_archive(const std::filesystem::path& file);
  std::string change_tokenizer(const std::filesystem::path& file);

  std::string change_tree(Json& json);
  std::string break_character_map(Json& map);
  Json* random_node(Json& root);
  Json strange_value();
  template <class List>
  const auto& one_of(const List& list) {
    return std::data(list)[random_.below(std::size(list))];
  }

  Random random_;
};

}  // namespace qkv::test
