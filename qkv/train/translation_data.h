// The data of a training: vocabularies, encoded training pairs and validation pairs.
//
//     TranslationData data = prepare_translation_data(options);     // nothing is written
//     data.vocabularies.save("my-model");                           // source.model, target.model
//
// Vocabularies are trained on the training pairs; a resumed training passes those that it started with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "qkv/base/progress.h"
#include "qkv/model/model_file.h"
#include "qkv/text/encoded_corpus.h"
#include "qkv/train/options.h"
#include "qkv/train/training_task.h"

namespace qkv {

struct Vocabularies {
  Tokenizer source, target;
  VocabularyChecksums checksums() const;
  BatchTokens batch_tokens() const { return BatchTokens::of(source, target); }
  void save(const std::filesystem::path& folder) const;
};

struct TranslationData {
  Vocabularies vocabularies;
  EncodedCorpus train;
  EncodedCorpus valid = {};                                // empty: no validation
  std::vector<std::string> sources = {}, references = {};  // the sentences of `valid`
  std::vector<SentencePair> held_out = {};
  SentencePair first = {};  // of the training pairs, to show what was read
};

TranslationData prepare_translation_data(const TrainOptions& options,
                                         const std::optional<Vocabularies>& known = {});
TranslationData prepare_translation_data(const TrainOptions& options, const std::optional<Vocabularies>& known,
                                         Progress& progress);

// InputError, naming the file, if one has another checksum.
Vocabularies load_vocabularies(const StoredVocabulary& stored);

}  // namespace qkv
