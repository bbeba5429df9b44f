// Replacing the files of one training by those of another, atomically.
//
//     commit_training(model, staging);     // a rename: from here on the files of `staging` are the model's
//     place_committed(model);              // moves them to their final paths; also after a crash in between
//
// FileError where a file cannot be moved; the next call does the rest.
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

// The files of a training, relative to the model folder, without the numbered checkpoints.
inline constexpr const char* training_files[] = {
    "model.safetensors",     "config.json",           "source.model",
    "target.model",          "tokenizer.model",       "held-out.tsv",
    "held-out.txt",          "training/options.json", "training/state.safetensors",
    "training/log.jsonl",    "training/metrics.csv",  "training/events.out.tfevents.qkv",
    "generation_config.json"};

}  // namespace qkv
