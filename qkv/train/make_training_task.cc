#include "qkv/train/make_training_task.h"

#include "qkv/train/causal_task.h"
#include "qkv/train/masked_task.h"
#include "qkv/train/translation_task.h"

namespace qkv {

std::unique_ptr<TrainingTask> make_training_task(const TrainOptions& options,
                                                 const std::optional<StoredVocabulary>& stored,
                                                 Progress& progress) {
  switch (options.architecture.architecture()) {
    case Architecture::causal:
      return std::make_unique<CausalTask>(options,
                                          prepare_text_data(options, CausalTask::encoding, stored, progress));
    case Architecture::masked:
      return std::make_unique<MaskedTask>(
          options, prepare_text_data(options, MaskedTask::encoding(options), stored, progress));
    default: break;
  }
  std::optional<Vocabularies> vocabularies;
  if (stored) vocabularies = load_vocabularies(*stored);
  return std::make_unique<TranslationTask>(options, prepare_translation_data(options, vocabularies, progress));
}

}  // namespace qkv
