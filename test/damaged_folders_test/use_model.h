// Reads the model of a folder and uses it for what it is for: a few tokens of a generator, the vector of an embedder, a
// short translation.
//
//     use_model("test/checkpoints/gpt2");
#pragma once

#include <filesystem>

namespace qkv::test {

void use_model(const std::filesystem::path& folder);

}  // namespace qkv::test
