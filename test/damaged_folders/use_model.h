// Reads the model of a folder and uses it: generates a few tokens, computes an embedding, or translates a short
// sentence.
//
//     use_model("test/checkpoints/gpt2");
#pragma once

#include <filesystem>

namespace qkv::test {

void use_model(const std::filesystem::path& folder);

}  // namespace qkv::test
