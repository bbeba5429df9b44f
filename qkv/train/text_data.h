// The data of a training on plain text: a tokenizer, encoded documents for training and for validation. A document is a
// line.
//
//     const auto encoding = [](const Tokenizer&) { return EncodeTextOptions{.max_length = 128}; };
//     TextData data = prepare_text_data(options, encoding, {}, progress);
//
// The tokenizer is trained on the training documents, unless there is one: that of a training to resume, or of a model
// to continue from. Nothing is written.
#pragma once

#include <filesystem>
#include <functional>
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

using TextEncoding = std::function<EncodeTextOptions(const Tokenizer&)>;
TextData prepare_text_data(const TrainOptions& options, const TextEncoding& encoding,
                           const std::optional<StoredVocabulary>& stored, Progress& progress);

}  // namespace qkv
