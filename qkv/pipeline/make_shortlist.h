// Makes a shortlist (decode/shortlist.h) for a translator, of the pairs that it was trained on or others like them. The
// translator itself aligns their tokens (decode/alignment.h), and the alignments are counted (decode/shortlist_counts.h).
//
//     const Translator translator("my-model");
//     CorpusReader pairs("train.tsv.gz");
//     make_shortlist(translator, pairs).shortlist.save("my-model.shortlist");
//
// A source token that the target vocabulary has too is always among its own translations: names and numbers stay what they
// are. Pairs with a side that is longer than the limit of the model are left out. Errors: those of the reader; RefusedTexts
// for sentences that cannot be tokenized; UsageError for options out of range.
#pragma once

#include <cstdint>
#include <functional>

#include "qkv/decode/shortlist.h"
#include "qkv/pipeline/translator.h"
#include "qkv/text/corpus.h"

namespace qkv {

// Ranges and help: decode/option_table.h.
struct ShortlistOptions {
  int64_t frequent = 100;
  int64_t translations = 50;
  int64_t alignment_layer = -1;
  int64_t batch_tokens = 4096;
};
void check_options(const ShortlistOptions& options);

struct MadeShortlist {
  Shortlist shortlist;
  int64_t pairs = 0, too_long = 0;  // counted, and left out
};

// progress(n) is called after every batch of pairs, n being read; it may throw to stop.
MadeShortlist make_shortlist(const Translator& translator, CorpusReader& pairs,
                             const ShortlistOptions& options = {},
                             const std::function<void(int64_t)>& progress = {});

}  // namespace qkv
