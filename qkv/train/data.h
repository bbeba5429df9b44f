// What a training learns from and is measured on: vocabularies and encoded sentence pairs.
//
//     TrainingData data = prepare_data(options);
//
// Vocabularies are made from the pairs to learn and saved in the model's folder as source.model and target.model; a
// training that goes on reads them from there. Pairs held out are written to held-out.tsv.
#pragma once

#include <string>
#include <vector>

#include "qkv/text/encoded_corpus.h"
#include "qkv/train/options.h"

namespace qkv {

struct TrainingData {
  Tokenizer source, target;
  EncodedCorpus train;
  EncodedCorpus valid = {};                  // no pairs: no validation
  std::vector<std::string> references = {};  // target sentences of `valid`
};

TrainingData prepare_data(const TrainOptions& options);

}  // namespace qkv
