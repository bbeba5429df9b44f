#include "qkv/pipeline/make_shortlist.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/decode/alignment.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/option_table.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/shortlist_counts.h"
#include "qkv/pipeline/encode_texts.h"

namespace qkv {
namespace {

using Ids = std::vector<int32_t>;

// Pairs that are read and aligned together, in batches of similar lengths.
constexpr size_t pairs_at_once = 2048;

std::vector<SentencePair> read_some(CorpusReader& reader) {
  std::vector<SentencePair> pairs;
  for (SentencePair pair; pairs.size() < pairs_at_once && reader.next(pair);) pairs.push_back(pair);
  return pairs;
}

class ShortlistMaker {
 public:
  ShortlistMaker(const Translator& translator, const ShortlistOptions& options)
      : translator_(translator),
        options_(options),
        counts_(translator.source().size(), translator.target().size()) {}

  void add(const std::vector<SentencePair>& pairs) {
    const int64_t limit = input_limit(translator_.model().config(), 0);
    std::vector<EncodedSentence> from(pairs.size()), to(pairs.size());
    encode_texts(std::ssize(pairs), "pair", [&](size_t i) {
      from[i] = encode_sentence(pairs[i].source, translator_.source(),
                                {.max_tokens = limit, .name = "source", .frame = translator_.source_frame()});
      to[i] = encode_sentence(pairs[i].target, translator_.target(),
                              {.max_tokens = limit, .name = "target", .frame = translator_.target_frame()});
      to[i].ids.pop_back();  // eos
    });
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const bool fits = !from[i].truncated && !to[i].truncated;
      too_long_ += !fits;
      lengths.push_back(fits ? std::ssize(from[i].ids) : 0);
    }
    for (const std::vector<size_t>& batch :
         length_batches(lengths, {options_.batch_tokens, translator_.model().config().depends_on_length()}))
      count(batch, from, to);
  }

  MadeShortlist made() const {
    const Tokenizer &source = translator_.source(), &target = translator_.target();
    ShortlistTable table = {.source = vocabulary_key(source),
                            .target = vocabulary_key(target),
                            .frequent = counts_.frequent(options_.frequent)};
    for (int32_t id = 0; id < source.size(); ++id) {
      Ids& ids = table.translations.emplace_back(counts_.likely_translations(id, options_.translations));
      if (id >= source.token_count() || source.is_added(id)) continue;
      const std::optional<int32_t> same = target.id_of(source.token(id));
      if (!same || *same >= target.size() || std::find(ids.begin(), ids.end(), *same) != ids.end()) continue;
      if (std::ssize(ids) == options_.translations) ids.pop_back();
      ids.push_back(*same);
    }
    return {.shortlist = Shortlist(std::move(table)), .pairs = pairs_, .too_long = too_long_};
  }

 private:
  void count(const std::vector<size_t>& batch, const std::vector<EncodedSentence>& from,
             const std::vector<EncodedSentence>& to) {
    std::vector<Ids> sources, targets;
    for (const size_t i : batch) {
      sources.push_back(from[i].ids);
      targets.push_back(to[i].ids);
    }
    const PaddedBatch source = pad_batch(sources);
    std::vector<int64_t> rows(batch.size());
    std::iota(rows.begin(), rows.end(), int64_t{0});
    const NoGrad guard;
    Pass pass;
    const Encoded encoded = translator_.model().encode(source.ids, source.lengths, pass);
    const std::vector<Tensor> weights =
        alignments(translator_.model(), encoded, rows, targets,
                   {.layer = options_.alignment_layer, .bos = translator_.target().special().bos});
    for (size_t b = 0; b < batch.size(); ++b) counts_.add(sources[b], targets[b], weights[b]);
    pairs_ += std::ssize(batch);
  }

  const Translator& translator_;
  const ShortlistOptions& options_;
  ShortlistCounts counts_;
  int64_t pairs_ = 0, too_long_ = 0;
};

}  // namespace

void check_options(const ShortlistOptions& options) { visit_options(options, CheckRanges{"shortlist"}); }

MadeShortlist make_shortlist(const Translator& translator, CorpusReader& pairs, const ShortlistOptions& options,
                             const std::function<void(int64_t)>& progress) {
  check_options(options);
  ShortlistMaker maker(translator, options);
  for (std::vector<SentencePair> some = read_some(pairs); !some.empty(); some = read_some(pairs)) {
    maker.add(some);
    if (progress) progress(pairs.pairs());
  }
  return maker.made();
}

}  // namespace qkv
