// Makes the task of a training, with its data and a new model, for the architecture of the model.
//
//     std::unique_ptr<TrainingTask> task = make_training_task(options, {}, progress);
//
// Trains the vocabulary, unless there is one. Nothing is written.
#pragma once

#include <memory>
#include <optional>

#include "qkv/base/progress.h"
#include "qkv/train/options.h"
#include "qkv/train/training_task.h"

namespace qkv {

std::unique_ptr<TrainingTask> make_training_task(const TrainOptions& options,
                                                 const std::optional<StoredVocabulary>& vocabulary,
                                                 Progress& progress);

}  // namespace qkv
