// What a training learns from and is measured on: vocabularies and encoded sentence pairs.
//
//     TrainingData data = prepare_data(options);                         // nothing is written
//     save_data("my-model", data);                                       // source.model, target.model,
//     held-out.tsv
//
// Vocabularies are made from the pairs to learn; a training that goes on hands over those it began with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "qkv/model/model_file.h"
#include "qkv/text/encoded_corpus.h"
#include "qkv/train/options.h"

namespace qkv {

struct Vocabularies {
  Tokenizer source, target;
  VocabularyChecksums checksums() const;
};

struct TrainingData {
  Vocabularies vocabularies;
  EncodedCorpus train;
  EncodedCorpus valid = {};                  // no pairs: no validation
  std::vector<std::string> references = {};  // target sentences of `valid`
  std::vector<SentencePair> held_out = {};
};

TrainingData prepare_data(const TrainOptions& options, const std::optional<Vocabularies>& known = {});

// The vocabularies in a folder, if they have these checksums: else an InputError that names the file.
Vocabularies load_vocabularies(const std::filesystem::path& folder, const VocabularyChecksums& sums);

void save_data(const std::filesystem::path& folder, const TrainingData& data);
void save_held_out(const std::filesystem::path& folder,
                   const TrainingData& data);  // of save_data(), this file alone
// Whether held-out.tsv is there. InputError if it holds other pairs: what is measured on it would mean nothing.
bool check_held_out(const std::filesystem::path& folder, const TrainingData& data);

}  // namespace qkv
