// The cross-attention of a translation model for the sentences that it translated worst, for the page of an evaluation.
//
//     EvaluationPageOptions page{.sources = sources, .attention_of = "big"};
//     page.attention = attention_of_worst(translator, e, sources, {.system = 1});
//
// The weights are those of the translations in the evaluation, not of new ones. Sentences whose weights would not fit
// into what is left of `max_bytes` are left out, and so are blank ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qkv/metric/evaluation.h"
#include "qkv/picture/evaluation_page.h"
#include "qkv/pipeline/translator.h"

namespace qkv {

struct AttentionOfWorstOptions {
  size_t system = 0;              // the number of the translator in the evaluation
  int64_t sentences = 20;         // by chrF
  int64_t max_bytes = 4'000'000;  // of all pictures
};

std::vector<SentencePage> attention_of_worst(const Translator& translator, const Evaluation& evaluation,
                                             std::span<const std::string> sources,
                                             const AttentionOfWorstOptions& options = {});

}  // namespace qkv
