// Translation of sentences by a model with its vocabularies.
//
//     Translator translator("my-model");
//     for (const Translation& t : translator.translate(lines, {.search = {.beam = 4}})) fmt::print("{}\n", t.text);
//
// Sentences are batched by length (length_batches.h), searched (search.h) and returned in their order; a
// translation does not depend on the other sentences. A blank sentence has a blank translation. A source longer
// than the limit of the model is cut and marked as truncated, so that one bad line does not end a run over thousands.
//
// With a shortlist, which qkv shortlist makes, only likely tokens are scored, and a small model is faster:
//
//     translator.use_shortlist("en-de.shortlist");
//
// A model folder holds config.json, model.safetensors, source.model and target.model; the model is an encoder-decoder.
// Errors: InputError for a folder that is not a model and files that do not fit together; RefusedTexts, an InputError,
// for sentences that cannot be tokenized ("sentence 3", counted from 1); UsageError for options out of range. A model
// that is read from a folder holds its weights packed, as bf16 if they are stored so or InferenceOptions say so
// (model/store_parameters.h); a model that is passed in is not changed, and may already be packed. The member
// functions may be called by several threads at once.
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qkv/decode/score.h"
#include "qkv/decode/search.h"
#include "qkv/decode/shortlist.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/store_parameters.h"
#include "qkv/pipeline/encoded_sentence.h"
#include "qkv/pipeline/terms.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

// Ranges and help: decode/option_table.h.
struct TranslateOptions {
  SearchOptions search = {};  // its tokens and max_tokens are set by the translator
  // Maximum number of beam * sentences * tokens of the longest source in a batch; during the search, hypotheses * tokens
  // may grow to four times as many. A single sentence always fits.
  int64_t batch_tokens = 4096;
  int64_t max_input_tokens = 0;  // a longer sentence is cut (encode_texts.h); 0: the limit of the model
  // The beginning of each translation, one for each sentence; empty: none. It is tokenized by itself, so it ends with a
  // whole token. Scores leave it out.
  std::vector<std::string> prefixes = {};
  // Translations that terms must have wherever they occur (terms.h): beam search keeps hypotheses that contain them. One
  // that does not fit into the maximum length is left out.
  std::vector<Term> terms = {};
  // The tokens that translations are made of (shortlist.h), for vocabularies of these sizes and orders; none: all of the
  // vocabulary. Translator::use_shortlist() reads one and checks it.
  std::shared_ptr<const Shortlist> shortlist = {};
  // The languages of a multilingual model, by their tokens: "deu_Latn", or "de" for "__de__" and ">>de<<". Empty: as
  // the files of the model say.
  std::string source_language = {}, target_language = {};
};
// UsageError for options that are out of range for any model.
void check_options(const TranslateOptions& options);

// A translation of a sentence.
struct Candidate {
  std::string text;
  double score = 0, log_probability = 0;
  std::vector<std::string> tokens;  // of the vocabulary; U+2581 stands for a space
  Tensor alignment = {};            // (tokens, source tokens), with options.search.alignment
};

struct Translation : Candidate {  // the best one
  std::vector<std::string> source_tokens = {};
  bool truncated = false;              // the source was too long and was cut
  std::vector<Candidate> n_best = {};  // best first, the best one included
};

struct ScorePairsOptions {
  int64_t batch_tokens = 4096;
  int64_t max_input_tokens = 0;  // of either side, as in TranslateOptions
};

// The score of a given translation.
struct PairScore {
  double log_probability = 0;
  std::vector<float> token_log_probabilities = {};  // of each token
  std::vector<std::string> tokens = {};             // of the target, eos last
  bool truncated = false;                           // a side was too long and was cut
};

class Translator {
 public:
  explicit Translator(const std::filesystem::path& folder, const InferenceOptions& options = {});
  // Errors begin with `name`.
  Translator(std::shared_ptr<const EncoderDecoder> model, Tokenizer source, Tokenizer target,
             const std::string& name = "Translator");
  template <std::derived_from<EncoderDecoder> AnyModel>
  Translator(AnyModel model, Tokenizer source, Tokenizer target, const std::string& name = "Translator")
      : Translator(std::make_shared<const AnyModel>(std::move(model)), std::move(source), std::move(target), name) {
  }

  // progress(n) is called after every batch, n sentences being done; it may throw to stop.
  using ProgressFunction = std::function<void(int64_t)>;
  std::vector<Translation> translate(std::span<const std::string> sentences, const TranslateOptions& options,
                                     const ProgressFunction& progress = {}) const;
  Translation translate(const std::string& sentence, const TranslateOptions& options) const;
  // With defaults().
  std::vector<Translation> translate(std::span<const std::string> sentences) const {
    return translate(sentences, defaults_);
  }
  Translation translate(const std::string& sentence) const { return translate(sentence, defaults_); }
  // translate({"I am cold.", "Go on."}): two texts between braces would be the ends of a std::string.
  std::vector<Translation> translate(std::initializer_list<std::string> sentences,
                                     const TranslateOptions& options) const {
    return translate(std::span(sentences.begin(), sentences.size()), options);
  }
  std::vector<Translation> translate(std::initializer_list<std::string> sentences) const {
    return translate(sentences, defaults_);
  }
  std::vector<PairScore> score(std::span<const std::string> sources, std::span<const std::string> targets,
                               const ScorePairsOptions& options = {}, const ProgressFunction& progress = {}) const;

  // Reads a shortlist, which becomes one of the defaults(). Not while another thread uses the translator. InputError for a
  // file that is not one, or is of other vocabularies.
  void use_shortlist(const std::filesystem::path& file);
  // The options that the folder of a published model asks for (generation_config.h).
  const TranslateOptions& defaults() const { return defaults_; }
  const EncoderDecoder& model() const { return *model_; }
  const Tokenizer& source() const { return source_; }
  const Tokenizer& target() const { return target_; }
  // The tokens around a source and after a target; the options of search with the special tokens of the vocabulary.
  TextFrame source_frame(const std::string& language = "") const;
  TextFrame target_frame() const;
  SearchOptions search_options_of(const TranslateOptions& options) const;

 private:
  static Translator read(const std::filesystem::path& folder, const InferenceOptions& options);
  void check(const std::string& where) const;
  static std::vector<EncodedSentence> encode_all(std::span<const std::string> sentences, const Tokenizer& tokenizer,
                                                 const EncodeSentenceOptions& options);
  std::vector<std::vector<int32_t>> phrases_of(const Terminology& terms, std::string_view sentence) const;
  Candidate candidate(const Hypothesis& hypothesis) const;

  std::shared_ptr<const EncoderDecoder> model_;
  Tokenizer source_, target_;
  TranslateOptions defaults_ = {};
};

}  // namespace qkv
