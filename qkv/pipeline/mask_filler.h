// Fills the masks of a text with a masked language model (cloze test; fill-mask).
//
//     MaskFiller filler("my-model");
//     FilledText filled = filler.fill("I am [MASK] today.", {.top_k = 5});
//     filled.masks[0][0].token, filled.masks[0][0].probability               // the most likely token of the first mask
//     filled.texts[0].text                                                   // "I am cold today."
//
// A mask is written [MASK], or as options.marker, and stands for one token. In a vocabulary of subwords the space
// before it is part of the token; in one of characters a space is a token of its own. The text between masks is
// tokenized as in the middle of a text, so that a full stop after a mask is one token.
//
// The probabilities are the softmax over the whole vocabulary; the special tokens and the mask itself are not
// candidates. Several masks are predicted independently: the probability of a filled text is the product of the
// probabilities of its tokens, and `texts` has the n most likely ones.
//
// Texts are batched by length; an answer does not depend on the other texts, nor on the number of threads. A text
// without a mask has no masks, and itself as its only text. One longer than the position limit is cut and marked as
// truncated.
// Errors: InputError for a folder that is not a masked model, files that do not fit together, and texts that are not
// UTF-8 ("text 3", counted from 1); UsageError for options out of range.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qkv/model/masked.h"
#include "qkv/model/store_parameters.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct FillMaskOptions {
  int64_t top_k = 5;              // candidates for each mask; fewer if the vocabulary has fewer
  int64_t n_best = 1;             // filled texts
  std::string marker = "[MASK]";  // of a mask in the text
  int64_t batch_tokens = 4096;    // texts * tokens of the longest one in a batch
  int64_t max_input_tokens = 0;   // a longer text is cut (encode_texts.h); 0: the limit of the model
};
// UsageError for options that are out of range.
void check_options(const FillMaskOptions& options);

struct MaskCandidate {
  int32_t id = 0;
  std::string token = {};  // of the vocabulary; U+2581 stands for a space
  double probability = 0;
};

struct FilledText {
  struct Answer {
    std::string text = {};
    double probability = 0;  // the product over the masks; 1 without masks
  };
  std::vector<std::vector<MaskCandidate>> masks = {};  // of every mask, most likely first
  std::vector<Answer> texts = {};                      // most likely first
  bool truncated = false;                              // the text was too long and was cut
};

struct ScoreMaskedTextOptions {
  int64_t apart = 7;             // of the tokens that are masked together (decode/score_masked.h)
  int64_t batch_tokens = 4096;   // texts * tokens of the longest one in a batch
  int64_t max_input_tokens = 0;  // a longer text is cut; 0: the limit of the model
};

struct MaskedTextScore {
  double log_probability = 0;                       // the sum of the tokens'
  std::vector<float> token_log_probabilities = {};  // of each token, given the tokens that are not masked with it
  std::vector<std::string> tokens = {};
  bool truncated = false;  // the text was too long and was cut
};

class MaskFiller {
 public:
  explicit MaskFiller(const std::filesystem::path& folder, const InferenceOptions& options = {});
  // Errors begin with `name`.
  MaskFiller(std::shared_ptr<const MaskedTransformer> model, Tokenizer tokenizer,
             const std::string& name = "MaskFiller");
  MaskFiller(MaskedTransformer model, Tokenizer tokenizer, const std::string& name = "MaskFiller");

  // progress(n) is called after every batch, n texts being done; it may throw to stop.
  using ProgressFunction = std::function<void(int64_t)>;
  std::vector<FilledText> fill(std::span<const std::string> texts, const FillMaskOptions& options = {},
                               const ProgressFunction& progress = {}) const;
  FilledText fill(const std::string& text, const FillMaskOptions& options = {}) const;
  // fill({"I am [MASK].", "[MASK] on."}): two texts between braces would be the ends of a std::string.
  std::vector<FilledText> fill(std::initializer_list<std::string> texts,
                               const FillMaskOptions& options = {}) const {
    return fill(std::span(texts.begin(), texts.size()), options);
  }

  // The pseudo-log-likelihood of texts without masks: each token is masked once.
  std::vector<MaskedTextScore> score(std::span<const std::string> texts, const ScoreMaskedTextOptions& options = {},
                                     const ProgressFunction& progress = {}) const;

  int32_t mask() const { return tokenizer_.mask_id(); }  // the id of the mask token
  const MaskedTransformer& model() const { return *model_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  std::shared_ptr<const MaskedTransformer> model_;
  Tokenizer tokenizer_;
};

}  // namespace qkv
