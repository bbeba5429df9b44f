// What a model loses without some of its attention heads (Michel et al., "Are Sixteen Heads Really Better than One?", 2019): the
// loss on a test set, and the BLEU of translations, with the outputs of these heads replaced by zero (layer/head_ablation.h).
//
//     const auto each = heads_named("all", translator.model().config(), "heads");
//     Ablation found = ablate(translator, sources, references, each);
//     fmt::print("{}", ablation_table(found.sorted()));                                  // the largest loss first
//
//     ablate(generator, texts, heads_named("decoder.1.self.3", config, "heads")).ablated[0].perplexity()
//
//     loss = -(1/N) sum of log p(token)         N tokens, ends of sentences and texts among them; perplexity = exp(loss)
//
// A head of little effect may have a twin that does the same: effects of heads by themselves do not add up.
// Errors   InputError for no texts, and for as many references as there are not sources; RefusedTexts for texts that cannot be
// tokenized; UsageError for options out of range.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/interpret/head_names.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"

namespace qkv {

// A model without some heads.
struct AblatedHeads {
  std::string name = {};            // "decoder.3.cross.5"
  double loss = 0;                  // of a token, in nats
  std::optional<double> bleu = {};  // of translations

  double perplexity() const;
};

struct Ablation {
  AblatedHeads whole = {};                 // the model as it is, named "none"
  std::vector<AblatedHeads> ablated = {};  // in the order that was asked for
  int64_t texts = 0, tokens = 0;

  Ablation sorted() const;  // the largest loss first
};

struct AblateOptions {
  ScorePairsOptions score = {};
  std::optional<TranslateOptions> translate = {};  // none: the defaults of the translator
  bool bleu = true;                                // translate, which takes most of the time
};
struct AblateTextOptions {
  ScoreTextOptions score = {};
};
struct AblateMaskedOptions {
  ScoreMaskedTextOptions score = {};
};

// progress(n) is called when n of the 1 + groups.size() measurements are done; it may throw to stop.
using AblationProgress = std::function<void(int64_t)>;
Ablation ablate(const Translator& translator, std::span<const std::string> sources,
                std::span<const std::string> references, std::span<const NamedHeads> groups,
                const AblateOptions& options = {}, const AblationProgress& progress = {});
Ablation ablate(const Generator& generator, std::span<const std::string> texts, std::span<const NamedHeads> groups,
                const AblateTextOptions& options = {}, const AblationProgress& progress = {});
// Of a masked model: the loss of its tokens, each masked once (decode/score_masked.h).
Ablation ablate(const MaskFiller& filler, std::span<const std::string> texts, std::span<const NamedHeads> groups,
                const AblateMaskedOptions& options = {}, const AblationProgress& progress = {});

// Heads, loss, perplexity and BLEU, with the change of loss and BLEU against the whole model.
std::string ablation_table(const Ablation& ablation);

}  // namespace qkv
