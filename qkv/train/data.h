// The data of a training: vocabularies, encoded training pairs and validation pairs.
//
//     TrainingData data = prepare_data(options);     // nothing is written
//     save_data("my-model", data);                   // source.model, target.model, held-out.tsv
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

namespace qkv {

struct Vocabularies {
  Tokenizer source, target;
  VocabularyChecksums checksums() const;
};

struct TrainingData {
  Vocabularies vocabularies;
  EncodedCorpus train;
  EncodedCorpus valid = {};                  // empty: no validation
  std::vector<std::string> references = {};  // target sentences of `valid`
  std::vector<SentencePair> held_out = {};
};

TrainingData prepare_data(const TrainOptions& options, const std::optional<Vocabularies>& known = {});
TrainingData prepare_data(const TrainOptions& options, const std::optional<Vocabularies>& known,
                          Progress& progress);

// The vocabularies in a folder. InputError, naming the file, if one has another checksum.
Vocabularies load_vocabularies(const std::filesystem::path& folder, const VocabularyChecksums& sums);

void save_data(const std::filesystem::path& folder, const TrainingData& data);
void save_held_out(const std::filesystem::path& folder, const TrainingData& data);  // held-out.tsv alone
// Whether held-out.tsv exists. InputError if it holds other pairs than those held out: a score measured on pairs
// that were trained on would be meaningless.
bool check_held_out(const std::filesystem::path& folder, const TrainingData& data);

}  // namespace qkv
