// Whether two folders hold the same training: the same bits of the model, its vocabularies, the state and the log.
//
//     EXPECT_EQ(training_difference("whole", "interrupted"), "");
#pragma once

#include <filesystem>
#include <string>

namespace qkv {

// The first difference, empty if there is none. Times, in the state and in the log, are ignored.
std::string training_difference(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace qkv
