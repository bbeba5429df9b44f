#include "qkv/train/text_data.h"

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/published/own_folder.h"
#include "qkv/text/holdout.h"

namespace qkv {
namespace {

const char* const file = tokenizer_file(Architecture::causal, TokenizerSide::source);

Tokenizer train_tokenizer(const TrainOptions& options, const Corpus& corpus, const Holdout& holdout,
                          Progress& progress) {
  CorpusSentences lines(corpus, Side::source, {.holdout = &holdout});
  const ElapsedTime time(progress,
                         fmt::format("training the tokenizer: at most {} tokens", options.vocabulary_size));
  Tokenizer tokenizer =
      Tokenizer::train([&](std::string& line) { return lines(line); }, options.tokenizer_options());
  progress.note(
      fmt::format("vocabulary of {} tokens trained in {}", tokenizer.size(), format_seconds(time.seconds())));
  return tokenizer;
}

}  // namespace

VocabularyChecksums TextData::vocabulary() const { return {{file, tokenizer.checksum()}}; }

void TextData::save_vocabulary(const std::filesystem::path& folder) const { tokenizer.save(folder / file); }

std::vector<std::string> TextData::notes(bool own_valid) const {
  const EncodedCorpus::Skipped& skipped = train.skipped();
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("training on {}, {} ({}, {} cut)", counted(train.size(), "line of text", "lines of text"),
                  counted(train.source_tokens(), "token"), counted(skipped.blank, "blank line"), skipped.too_long));
  if (valid.size() > 0)
    notes.push_back(fmt::format(
        "validating on {}{}", counted(valid.size(), "line"),
        own_valid ? ""
                  : fmt::format("; {} held out of training",
                                counted(skipped.held_out, "line like them is", "lines like them are"))));
  return notes;
}

TextData prepare_text_data(const TrainOptions& options, const TextEncoding& encoding,
                           const std::optional<StoredVocabulary>& stored, Progress& progress) {
  const Corpus corpus = options.corpus ? *options.corpus : Corpus(options.train, CorpusKind::text);
  Holdout holdout;
  if (options.hold_out > 0) holdout = Holdout(corpus, options.hold_out, options.seed);
  const Tokenizer tokenizer =
      stored ? (*stored)(TokenizerSide::source) : train_tokenizer(options, corpus, holdout, progress);
  const EncodeTextOptions encode = encoding(tokenizer);
  EncodeTextOptions rest = encode;
  rest.holdout = &holdout;
  TextData data{.tokenizer = tokenizer, .train = encode_text(corpus, tokenizer, rest)};
  for (const SentencePair& line : holdout.pairs()) data.held_out += line.source + "\n";
  if (!options.valid.empty())
    data.valid = encode_text(Corpus(options.valid, CorpusKind::text), tokenizer, encode);
  else
    for (const SentencePair& line : holdout.pairs()) add_document(line.source, tokenizer, encode, data.valid);
  return data;
}

}  // namespace qkv
