// The file with the data that was held out of a training, in the model folder.
//
//     save_held_out(folder, {.file = "held-out.tsv", .text = pairs});
//     bool exists = check_held_out(folder, held_out);
#pragma once

#include "qkv/train/training_task.h"

namespace qkv {

void save_held_out(const std::filesystem::path& folder, const TrainingTask::HeldOut& held_out);
// Whether the file exists. InputError if it holds anything but the held-out data: a score measured on data that was
// trained on would be meaningless.
bool check_held_out(const std::filesystem::path& folder, const TrainingTask::HeldOut& held_out);

}  // namespace qkv
