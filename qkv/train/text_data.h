// The data of a training on plain text: a tokenizer, encoded documents for training and for validation. A document is a
// line.
//
//     TextData data = prepare_text_data(options, {.before = {Tokenizer::bos}, .max_length = 128}, {}, progress);
//
// The tokenizer is trained on the training documents, unless there is one: that of a training to resume, or of a model to
// continue from. Nothing is written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "qkv/base/progress.h"
#include "qkv/text/encoded_corpus.h"
#include "qkv/train/options.h"
#include "qkv/train/training_task.h"

namespace qkv {

struct TextData {
  Tokenizer tokenizer;
  EncodedCorpus train;
  EncodedCorpus valid = {};   // empty: no validation
  std::string held_out = {};  // lines

  VocabularyChecksums vocabulary() const;
  void save_vocabulary(const std::filesystem::path& folder) const;
  std::vector<std::string> notes(bool own_valid) const;
};

TextData prepare_text_data(const TrainOptions& options, EncodeTextOptions encode,
                           const std::optional<StoredVocabulary>& stored, Progress& progress);

}  // namespace qkv
