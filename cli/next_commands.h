// What to do with a model that was just trained: commands that can be copied, with the paths of this training.
//
//     for (const std::string& line : next_commands("qkv", options)) say("  " + line);
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "qkv/train/options.h"

namespace qkv::cli {

// As a word of a shell: 'my model'.
std::string shell_word(const std::string& text);

std::vector<std::string> next_commands(const std::string& program, const TrainOptions& options);

// What continues a training that was interrupted.
std::string resume_command(const std::string& program, const std::filesystem::path& model);

}  // namespace qkv::cli
