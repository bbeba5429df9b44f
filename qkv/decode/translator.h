// Sentences in, translations out: a model with its vocabularies.
//
//     Translator translator("my-model");
//     for (const Translation& t : translator.translate(lines, {.beam = 4})) fmt::print("{}\n", t.text);
//
// Sentences are sorted by length, searched batch by batch (search.h) and given back in their order; a translation
// does not depend on what else is translated. A blank sentence has a blank translation. A source with more tokens
// than the model has positions is cut and says so: one bad line among thousands is no reason to lose the others.
//
// The folder of a model holds config.json, model.safetensors, source.model and target.model.
// Errors: InputError for a folder that is not one, files that do not fit together, and sentences that are not UTF-8
// ("sentence 3", counted from 1); UsageError for options that make no sense.
// translate() and the like may be called by several threads at once.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "qkv/decode/score.h"
#include "qkv/decode/search.h"
#include "qkv/decode/sentence.h"
#include "qkv/model/transformer.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct TranslateOptions {
  int64_t beam = 4;
  double length_penalty = 1.0;  // search.h
  int64_t n_best = 1;
  int64_t max_length = 0;  // tokens of an answer; 0: in proportion to the source
  // A batch begins with at most so many tokens of beam * sentences * longest source, and never holds more than four
  // times as many of hypotheses * longest answer; but one sentence always fits. 1 to 1000000.
  int64_t batch_tokens = 4096;
  bool alignment = false;
  void (*after_batch)() = nullptr;  // what it throws ends the translation
};

SearchOptions search_options(const TranslateOptions& options);
// What needs no model to be wrong: a UsageError.
void check_options(const TranslateOptions& options);
void check_batch_tokens(int64_t batch_tokens);

// One answer to a sentence.
struct Answer {
  std::string text;
  double score = 0, log_probability = 0;
  std::vector<std::string> tokens;  // of the vocabulary; U+2581 stands for a space
  Tensor alignment = {};            // (tokens, source tokens) if asked for
};

struct Translation : Answer {  // the best one
  std::vector<std::string> source_tokens = {};
  bool truncated = false;           // the source was too long and has been cut
  std::vector<Answer> n_best = {};  // best first, the best included
};

// How likely a given translation is.
struct PairScore {
  double log_probability = 0;
  std::vector<float> token_log_probabilities = {};  // log-probability of each piece
  std::vector<std::string> tokens = {};             // of the target, the end of the sentence last
  bool truncated = false;                           // a side was too long and has been cut
};

class Translator {
 public:
  explicit Translator(const std::filesystem::path& folder);
  // `name` is what errors call it.
  Translator(Transformer model, Tokenizer source, Tokenizer target, const std::string& name = "Translator");

  // progress(n) is called after every batch, n sentences being done; it may throw to stop.
  using ProgressFunction = std::function<void(int64_t)>;
  std::vector<Translation> translate(std::span<const std::string> sentences, const TranslateOptions& options = {},
                                     const ProgressFunction& progress = {}) const;
  std::vector<PairScore> score(std::span<const std::string> sources, std::span<const std::string> targets,
                               int64_t batch_tokens = 4096, const ProgressFunction& progress = {}) const;

  const Transformer& model() const { return model_; }
  const Tokenizer& source() const { return source_; }
  const Tokenizer& target() const { return target_; }

 private:
  void check(const std::string& where) const;
  std::vector<Sentence> read_all(std::span<const std::string> sentences, const Tokenizer& tokenizer,
                                 const char* what) const;
  Answer answer(const Hypothesis& hypothesis) const;

  Transformer model_;
  Tokenizer source_, target_;
};

}  // namespace qkv
