// Whether two folders hold the same training: the same bits of the model, its vocabularies, the state and the log.
//
//     EXPECT_EQ(training_difference("whole", "interrupted"), "");
#pragma once

#include <filesystem>
#include <string>

namespace qkv {

// What differs first; empty: nothing does. Times of the clock, in the state and in the log, are left out.
std::string training_difference(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace qkv
