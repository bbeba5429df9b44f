// Defaults for the options of a training, by the size of its corpus. doc/first_training.md has the measurements behind
// them.
//
//     TrainOptions options = default_options({.pairs = 29'000, .sources = 29'000});
//     options.train = "pairs.tsv.gz";
//     options.model = "my-model";
//     train(options);                                                  // train/train.h
//
//     TrainOptions same = options_for({.model = "my-model", .train = "pairs.tsv.gz"});   // counts the pairs itself
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "qkv/train/options.h"

namespace qkv {

struct CorpusSize {
  int64_t pairs = 0;            // or lines of text
  int64_t sources = 0;          // distinct source sentences, or lines; counted up to 100,000
  bool has_validation = false;  // there are validation pairs beside them; else some are held out
  bool has_model = false;       // training continues from a model (init)
  int64_t bytes = 0;            // of the target sentences, or lines
};
TrainOptions default_options(const CorpusSize& size, Architecture architecture = Architecture::encoder_decoder);

// What decides the options before the user's own are applied.
struct BaseOptions {
  std::filesystem::path model = {};
  CorpusPaths train = {};
  std::string valid = {};
  std::optional<std::string> recipe = {};  // the sizes of the model
  Architecture architecture = Architecture::encoder_decoder;
  std::string init = {};  // a model that has the architecture and the vocabularies
  Seconds max_time = {};  // if there is one, the number of updates has no limit
  bool resume = false;
};

// The options of the training in the folder, if there is one and `resume` is set; else the defaults for the corpus.
// Then the architecture of init, or the sizes of the recipe; then apply(options), the user's own, which are checked
// before the corpus is read.
TrainOptions options_for(const BaseOptions& base, const std::function<void(TrainOptions&)>& apply = {});

// The options that default_options() chooses by the size of the corpus: their names, as in option_table.h.
std::vector<std::string> options_by_corpus();

}  // namespace qkv
