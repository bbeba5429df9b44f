#include "qkv/train/translation_data.h"

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/published/own_folder.h"
#include "qkv/text/holdout.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

const char* const source_file = tokenizer_file(Architecture::encoder_decoder, TokenizerSide::source);
const char* const target_file = tokenizer_file(Architecture::encoder_decoder, TokenizerSide::target);

Tokenizer train_tokenizer(const TrainOptions& options, const Corpus& corpus, Side side, const Holdout& holdout,
                          Progress& progress) {
  CorpusSentences sentences(corpus, side, {.holdout = &holdout});
  int64_t count = 0;
  const auto next = [&](std::string& sentence) { return sentences(sentence) && ++count; };
  const char* of = side == Side::both ? "joint" : side == Side::source ? "source" : "target";
  double seconds = 0;
  Tokenizer tokenizer = [&] {
    const ElapsedTime time(progress, fmt::format("training the tokenizer: {} vocabulary of at most {} tokens", of,
                                                 options.vocabulary_size));
    Tokenizer trained = Tokenizer::train(next, options.tokenizer_options());
    seconds = time.seconds();
    return trained;
  }();
  progress.note(fmt::format("{} vocabulary of {} tokens trained on {} in {}", of, tokenizer.size(),
                            counted(count, "sentence"), format_seconds(seconds)));
  return tokenizer;
}

Vocabularies train_vocabularies(const TrainOptions& options, const Corpus& corpus, const Holdout& holdout,
                                Progress& progress) {
  const bool joint = ties_embeddings(options.architecture.tie());
  const Tokenizer source = train_tokenizer(options, corpus, joint ? Side::both : Side::source, holdout, progress);
  return {source, joint ? source : train_tokenizer(options, corpus, Side::target, holdout, progress)};
}

}  // namespace

VocabularyChecksums Vocabularies::checksums() const {
  return {{source_file, source.checksum()}, {target_file, target.checksum()}};
}

void Vocabularies::save(const fs::path& folder) const {
  source.save(folder / source_file);
  target.save(folder / target_file);
}

TranslationData prepare_translation_data(const TrainOptions& options, const std::optional<Vocabularies>& known) {
  Progress silent({.quiet = true});
  return prepare_translation_data(options, known, silent);
}

TranslationData prepare_translation_data(const TrainOptions& options, const std::optional<Vocabularies>& known,
                                         Progress& progress) {
  const Corpus corpus = options.corpus ? *options.corpus : Corpus(options.train);
  Holdout holdout;
  if (options.hold_out > 0) holdout = Holdout(corpus, options.hold_out, options.seed);
  const std::vector<SentencePair> valid = options.valid.empty() ? holdout.pairs() : read_corpus(options.valid);
  const Vocabularies vocabularies = known ? *known : train_vocabularies(options, corpus, holdout, progress);
  const auto& [source, target] = vocabularies;
  const BatchTokens tokens = vocabularies.batch_tokens();
  TranslationData data{
      .vocabularies = vocabularies,
      .train = encode_corpus(corpus, source, target,
                             {.max_length = options.max_length - (tokens.extra() - 1), .holdout = &holdout}),
      .held_out = holdout.pairs()};
  CorpusReader(corpus, {.holdout = &holdout}).next(data.first);
  if (valid.empty()) return data;
  // Pairs too long for the model are skipped here, so that the sentences and `valid` stay aligned.
  for (const SentencePair& pair : valid) {
    const std::vector<int32_t> from = source.encode(pair.source), to = target.encode(pair.target);
    const auto longest = static_cast<int64_t>(std::max(from.size(), to.size()));
    if (longest + tokens.extra() > options.architecture.position_limit()) continue;
    data.valid.add(from, to);
    data.sources.push_back(pair.source);
    data.references.push_back(pair.target);
  }
  require<InputError>(data.valid.size() > 0, options.valid.empty() ? corpus.name() : options.valid,
                      "none of the {} validation pairs fits into the {} positions of the model", valid.size(),
                      options.architecture.position_limit());
  return data;
}

Vocabularies load_vocabularies(const StoredVocabulary& stored) {
  return {stored(TokenizerSide::source), stored(TokenizerSide::target)};
}

}  // namespace qkv
