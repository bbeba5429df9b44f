// How the files of a new training take the place of those of another one, all at once.
//
//     commit_training(model, staging);     // a rename: from here on the files of `staging` are the model's
//     place_committed(model);              // moves them to where they belong; also after a crash in the middle
//
// FileError where a file cannot be moved: what is left to do is done by the next call.
#pragma once

#include <cstdint>
#include <filesystem>

namespace qkv {

// `staging` is a folder in model/training with all files, model.safetensors among them.
void commit_training(const std::filesystem::path& model, const std::filesystem::path& staging);
void place_committed(const std::filesystem::path& model);

// The N of training/next-N, or 0.
int64_t number_of_staged(const std::filesystem::path& path);
bool is_numbered_checkpoint(const std::filesystem::path& path);  // step-000001000.safetensors

// What a training writes, relative to the model's folder, but for the numbered checkpoints.
inline constexpr const char* training_files[] = {"model.safetensors",
                                                 "config.json",
                                                 "source.model",
                                                 "target.model",
                                                 "held-out.tsv",
                                                 "training/options.json",
                                                 "training/state.safetensors",
                                                 "training/log.jsonl"};

}  // namespace qkv
