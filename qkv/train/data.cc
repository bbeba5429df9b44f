#include "qkv/train/data.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/text/holdout.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

Tokenizer learn_tokenizer(const TrainOptions& options, const Corpus& corpus, Side side, const Holdout& holdout) {
  return Tokenizer::train(CorpusSentences(corpus, side, {.holdout = &holdout}),
                          {.type = options.tokenizer,
                           .vocabulary_size = options.vocabulary_size,
                           .character_coverage = options.character_coverage,
                           .lossless = options.lossless,
                           .seed = options.seed});
}

std::pair<Tokenizer, Tokenizer> tokenizers(const TrainOptions& options, const Corpus& corpus,
                                           const Holdout& holdout) {
  const fs::path source_file = options.model / "source.model", target_file = options.model / "target.model";
  // Both are there, or none counts: the second one is written last.
  if (std::error_code error; options.resume && fs::exists(target_file, error))
    return {Tokenizer::load(source_file), Tokenizer::load(target_file)};
  const bool joint = options.architecture.tie == Tie::all;
  const Tokenizer source = learn_tokenizer(options, corpus, joint ? Side::both : Side::source, holdout);
  const Tokenizer target = joint ? source : learn_tokenizer(options, corpus, Side::target, holdout);
  source.save(source_file);
  target.save(target_file);
  return {source, target};
}

void write_pairs(const fs::path& path, const std::vector<SentencePair>& pairs) {
  FileWriter file(path);
  for (const SentencePair& pair : pairs) file.write(fmt::format("{}\t{}\n", pair.source, pair.target));
  file.commit();
}

}  // namespace

TrainingData prepare_data(const TrainOptions& options) {
  const Corpus corpus(options.train);
  Holdout holdout;
  if (options.hold_out > 0) {
    holdout = Holdout(corpus, options.hold_out, options.seed);
    write_pairs(options.model / "held-out.tsv", holdout.pairs());
  }
  const std::vector<SentencePair> valid = options.valid.empty() ? holdout.pairs() : read_corpus(options.valid);
  auto [source, target] = tokenizers(options, corpus, holdout);
  TrainingData data{
      .source = source,
      .target = target,
      .train = encode_corpus(corpus, source, target, {.max_length = options.max_length, .holdout = &holdout})};
  if (valid.empty()) return data;
  // Pairs too long for the model are left out one by one, so that the references stay beside their sources.
  for (const SentencePair& pair : valid) {
    const std::vector<int32_t> from = source.encode(pair.source), to = target.encode(pair.target);
    const auto most = static_cast<size_t>(options.architecture.max_length);
    if (from.size() >= most || to.size() >= most) continue;
    data.valid.add(from, to);
    data.references.push_back(pair.target);
  }
  require<InputError>(data.valid.size() > 0, options.valid.empty() ? options.train : options.valid,
                      "none of the {} pairs to validate on fits into the {} positions of the model", valid.size(),
                      options.architecture.max_length);
  return data;
}

}  // namespace qkv
