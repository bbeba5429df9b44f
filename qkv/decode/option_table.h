// Every option of translation, generation, and the other uses of a model, row by row: name, unit, help, range, the
// heading of its flag in the help (none: commands have no such flag), the key of generation_config.json that sets it as
// it is, and the field. The flags of the commands, the arguments of the Python functions with their types and help, the
// checks of ranges, and the defaults of published models are made from these rows. A help names another option by its
// flag: "at most --beam".
//
//     visit_options(options, [](const Setting& setting, auto& field) { ... });
//     visit_options(options, CheckRanges{"translate"});
#pragma once

#include <concepts>
#include <type_traits>

#include "qkv/base/setting.h"

namespace qkv {

struct SearchOptions;
struct SamplingOptions;
struct TranslateOptions;
struct GenerateTextOptions;
struct EmbedOptions;
struct FillMaskOptions;
struct ScorePairsOptions;
struct ScoreTextOptions;
struct ShortlistOptions;

namespace option_table {

template <class T, class Options>
concept Of = std::same_as<std::remove_const_t<T>, Options>;

constexpr Range any = {}, fraction = {.from = 0, .to = 1}, beam_size = {.from = 1, .to = 256},
                proposed = {.from = 0, .to = 100}, batch_size = {.from = 1, .to = 1'000'000},
                up_to_100 = {.from = 1, .to = 100}, up_to_1000 = {.from = 1, .to = 1000},
                up_to_10000 = {.from = 1, .to = 10'000}, factor = {.from = 0.01, .to = 100};

constexpr Setting length_normalization(const char* heading) {
  return {"length-normalization", "",
          "length penalty of LENGTH tokens: ((5 + LENGTH) / 6)^ALPHA (Wu et al., 2016), or LENGTH^ALPHA", any,
          heading};
}

template <class Options, class Visitor>
void visit_input(Options& o, Visitor&& visitor, const char* batch) {
  visitor(Setting{"batch-tokens", "TOKENS", batch, batch_size, "General"}, o.batch_tokens);
  visitor(Setting{"max-input-tokens", "TOKENS",
                  "longer lines are cut and reported; 0: the limit of the model, or 4096 if it has none",
                  not_negative, "Input and output"},
          o.max_input_tokens);
}

template <class Options, class Visitor>
void visit_lengths(Options& o, Visitor&& visitor) {
  visitor(Setting{"max-tokens", "TOKENS", "maximum length of an answer", {.from = 1}, "Length"}, o.max_tokens);
  visitor(Setting{"min-tokens", "TOKENS", "minimum length of an answer", not_negative, "Length", "min_new_tokens"},
          o.min_tokens);
}

template <class Options, class Visitor>
void visit_draws(Options& o, Visitor&& visitor) {
  visitor(Setting{"temperature", "T", "divides the logits before a token is drawn; 0: always the most likely token",
                  not_negative, "Sampling", "temperature"},
          o.temperature);
  visitor(
      Setting{"top-k", "K", "draw from the K most likely tokens; 0: from all", not_negative, "Sampling", "top_k"},
      o.top_k);
  visitor(
      Setting{"top-p", "P",
              "nucleus sampling: draw from the smallest set of tokens whose probabilities sum to P; 1: from all",
              fraction, "Sampling", "top_p"},
      o.top_p);
  visitor(Setting{"min-p", "P", "draw from tokens with at least P times the highest probability; 0: from all",
                  fraction, "Sampling", "min_p"},
          o.min_p);
}

template <class Options, class Visitor>
void visit_repetition(Options& o, Visitor&& visitor) {
  visitor(Setting{"repetition-penalty", "R", "makes tokens that occurred before less likely; 1: none", factor,
                  "Sampling", "repetition_penalty"},
          o.repetition_penalty);
  visitor(Setting{"no-repeat-ngram", "N", "no sequence of N tokens occurs twice; 0: no such limit", not_negative,
                  "Sampling", "no_repeat_ngram_size"},
          o.no_repeat_ngram);
}

template <class Options, class Visitor>
void visit_beam(Options& o, Visitor&& visitor) {
  visitor(Setting{"beam", "N", "beam size, to search for the most likely text; 1: draw tokens", beam_size,
                  "Beam search", "num_beams"},
          o.beam);
  visitor(Setting{"length-penalty", "ALPHA", "exponent alpha of the length penalty of beam search; 0: none", any,
                  "Beam search", "length_penalty"},
          o.length_penalty);
  visitor(length_normalization("Beam search"), o.length_normalization);
}

template <class Options, class Visitor>
void visit_speculation(Options& o, Visitor&& visitor) {
  visitor(
      Setting{"lookup", "N",
              "propose up to N tokens at a step: those that followed the last ones earlier in the prompt or the "
              "answer. They are read together, so that an answer that repeats much of them takes fewer steps; it "
              "is the same answer. 0: none",
              proposed, "Speculation"},
      o.lookup);
  visitor(Setting{"draft-tokens", "N", "the most tokens that a draft model proposes at a step", up_to_100,
                  "Speculation"},
          o.draft_tokens);
}

}  // namespace option_table

template <option_table::Of<SearchOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visitor(Setting{"beam", "N", "beam size; 1: greedy search", beam_size, "Search", "num_beams"}, o.beam);
  visitor(Setting{"length-penalty", "ALPHA", "exponent alpha of the length penalty; 0: none", any, "Search",
                  "length_penalty"},
          o.length_penalty);
  visitor(length_normalization("Search"), o.length_normalization);
  visitor(Setting{"max-length", "TOKENS",
                  "maximum length of a translation; 0: 3 times the source + 100, within what the model is made "
                  "for, or 4096 if it does not say",
                  not_negative, "Search"},
          o.max_length);
  visitor(Setting{"no-repeat-ngram", "N", "no sequence of N tokens occurs twice in a translation; 0: no such limit",
                  not_negative, "Search", "no_repeat_ngram_size"},
          o.no_repeat_ngram);
  visitor(Setting{"min-length", "TOKENS", "minimum length of a translation", not_negative, "Search"}, o.min_length);
  visitor(Setting{"n-best", "N", "number of translations per sentence, at most --beam without --alternatives",
                  beam_size, "Output of a line"},
          o.n_best);
  visitor(Setting{"alternatives", "true|false",
                  "the --n-best translations differ in their first token, or in the first one after the prefix",
                  any, "Output of a line"},
          o.alternatives);
  visitor(Setting{"alignment", "true|false", "compute alignments with the batch, not on first access"},
          o.alignment);
}

template <option_table::Of<SamplingOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visit_draws(o, visitor);
  visit_repetition(o, visitor);
  visitor(Setting{"seed", "N", "seed of the random numbers", any, "Sampling"}, o.seed);
}

template <option_table::Of<TranslateOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visit_options(o.search, visitor);
  visit_input(o, visitor, "batch size in source tokens times --beam");
  visitor(Setting{"source-language", "TOKEN",
                  "language of the input, for a multilingual model: the name of its token, such as eng_Latn", any,
                  "Languages"},
          o.source_language);
  visitor(Setting{"target-language", "TOKEN", "language of the translations", any, "Languages"}, o.target_language);
}

template <option_table::Of<GenerateTextOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visit_lengths(o, visitor);
  visit_options(o.sampling, visitor);
  visitor(Setting{"stop", "TEXT", "text that ends an answer and is not part of it; may be given several times", any,
                  "Length"},
          o.stop);
  visitor(Setting{"parse-special", "true|false",
                  "read special tokens of the vocabulary in a prompt, such as <|im_start|>, as these tokens; "
                  "default: as text",
                  any, "Input and output"},
          o.parse_special);
  visitor(Setting{"first-prompt", "N",
                  "number of the first prompt, for the random numbers, if these prompts are part of more"},
          o.first_prompt);
  visitor(Setting{"answers", "N", "number of answers to each prompt, at most --beam if that is not 1", up_to_10000,
                  "Input and output"},
          o.answers);
  visit_beam(o, visitor);
  visit_speculation(o, visitor);
  visit_input(o, visitor, "batch size in tokens times --beam");
}

template <option_table::Of<EmbedOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visitor(Setting{"pooling", "",
                  "how the hidden states of the tokens become one vector: their mean, the first or the last of "
                  "them, their maximum in each column, their sum divided by the root of the length; automatic: "
                  "what a folder of sentence-transformers says, else last for a causal model and mean for others",
                  any, "Vectors"},
          o.pooling);
  visitor(Setting{"normalize", "true|false", "divide each vector by its L2 norm: dot products are cosines", any,
                  "Vectors"},
          o.normalize);
  visit_input(o, visitor, "batch size in tokens");
}

template <option_table::Of<FillMaskOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visitor(Setting{"marker", "TEXT", "the text that marks a mask; each mask stands for one token"}, o.marker);
  visitor(Setting{"n-best", "N", "number of texts per line", up_to_100, "Answers"}, o.n_best);
  visitor(Setting{"top-k", "K", "number of candidates for each mask", up_to_1000}, o.top_k);
  visit_input(o, visitor, "batch size in tokens");
}

template <option_table::Of<ScorePairsOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visit_input(o, visitor, "batch size in tokens");
}

template <option_table::Of<ShortlistOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visitor(Setting{"frequent",
                  "K",
                  "the K most frequent target tokens are candidates in every sentence",
                  {.from = 1, .to = 1'000'000},
                  "Shortlist"},
          o.frequent);
  visitor(Setting{"translations",
                  "L",
                  "the L most likely translations of each source token are candidates",
                  {.from = 1, .to = 1'000'000},
                  "Shortlist"},
          o.translations);
  visitor(
      Setting{"alignment-layer", "N",
              "decoder layer whose cross-attention aligns the tokens; negative: from the last", any, "Shortlist"},
      o.alignment_layer);
  visitor(Setting{"batch-tokens", "TOKENS", "batch size in source tokens", batch_size, "General"}, o.batch_tokens);
}

template <option_table::Of<ScoreTextOptions> Options, class Visitor>
void visit_options(Options& o, Visitor&& visitor) {
  using namespace option_table;
  visitor(Setting{"context", "TOKENS",
                  "number of tokens read at once; longer lines are read in windows; 0: the limit of the model, or "
                  "4096 if it has none",
                  not_negative, "Windows of long lines"},
          o.context);
  visitor(Setting{"stride", "TOKENS", "distance between the windows of a long line; 0: half of --context",
                  not_negative, "Windows of long lines"},
          o.stride);
  visitor(Setting{"parse-special", "true|false",
                  "read special tokens of the vocabulary in a text, such as <|im_start|>, as these tokens; "
                  "default: as text",
                  any, "Input and output"},
          o.parse_special);
  visitor(Setting{"batch-tokens", "TOKENS", "batch size in tokens", batch_size, "General"}, o.batch_tokens);
}

}  // namespace qkv
