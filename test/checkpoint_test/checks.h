// Checks of a model folder against its reference.
#pragma once

#include <filesystem>
#include <vector>

namespace qkv::test {

struct Check {
  const char* name;
  void (*run)(const std::filesystem::path& folder);
};

// Those for which the folder has a reference.
std::vector<Check> checks_of(const std::filesystem::path& folder);

}  // namespace qkv::test
