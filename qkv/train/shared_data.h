// Validation data that is also training data: its scores would say nothing.
//
//     if (const auto warning = shared_data_warning(train, valid)) ...
#pragma once

#include <optional>

#include "qkv/text/encoded_corpus.h"
#include "qkv/train/warnings.h"

namespace qkv {

// Half of the validation pairs or more are training pairs, too. Some always are, in a corpus with short sentences.
std::optional<TrainingWarning> shared_data_warning(const EncodedCorpus& train, const EncodedCorpus& valid);

}  // namespace qkv
