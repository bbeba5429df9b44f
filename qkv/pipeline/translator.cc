#include "qkv/pipeline/translator.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/option_table.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/published/load_model.h"
#include "qkv/published/text_model.h"
#include "qkv/text/language_tokens.h"
#include "qkv/text/utf8.h"

namespace qkv {

Translator Translator::read(const std::filesystem::path& folder, const InferenceOptions& options) {
  SavedModel saved = read_model_for_inference(folder, options);
  const Architecture architecture = saved.model->config().architecture();
  std::shared_ptr<const Model> any = std::move(saved.model);
  auto model = std::dynamic_pointer_cast<const EncoderDecoder>(any);
  require<InputError>(model != nullptr, folder.string(),
                      "the architecture of this model is {}: it does not translate, which needs an encoder-decoder",
                      name_of(architecture));
  Translator translator(model, saved.folder->tokenizer(TokenizerSide::source),
                        saved.folder->tokenizer(TokenizerSide::target), folder.string());
  translator.defaults_ = translate_defaults(*saved.folder);
  return translator;
}

Translator::Translator(const std::filesystem::path& folder, const InferenceOptions& options)
    : Translator(read_together(folder, [&] { return read(folder, options); })) {}

Translator::Translator(std::shared_ptr<const EncoderDecoder> model, Tokenizer source, Tokenizer target,
                       const std::string& name)
    : model_(std::move(model)), source_(std::move(source)), target_(std::move(target)) {
  check(name);
}

void Translator::check(const std::string& where) const {
  check_head(*model_, where);
  const ModelConfig& config = model_->config();
  require<InputError>(source_.size() == config.source_vocabulary() && target_.size() == config.target_vocabulary(),
                      where, "the vocabularies have {} source and {} target tokens, the model expects {} and {}",
                      source_.size(), target_.size(), config.source_vocabulary(), config.target_vocabulary());
  const SpecialTokens& special = target_.special();
  require<InputError>(special.bos >= 0 && special.eos >= 0, where,
                      "the tokens that begin and end a translation are not given: decoder_start_token_id and "
                      "eos_token_id");
}

void Translator::use_shortlist(const std::filesystem::path& file) {
  auto shortlist = std::make_shared<const Shortlist>(Shortlist::load(file));
  shortlist->check_vocabularies(vocabulary_key(source_), vocabulary_key(target_), file.string());
  defaults_.shortlist = std::move(shortlist);
}

TextFrame Translator::source_frame(const std::string& language) const {
  TextFrame frame = frame_of(source_, Architecture::encoder_decoder);
  if (language.empty()) return frame;
  require<UsageError>(!frame.before.empty(), "translate",
                      "source-language {} was given, but no source of this model begins with a language",
                      quoted_name(language));
  frame.before.front() = language_token(source_, language, "source-language");
  return frame;
}

TextFrame Translator::target_frame() const { return {.before = {}, .after = {target_.special().eos}}; }

std::vector<EncodedSentence> Translator::encode_all(std::span<const std::string> sentences,
                                                    const Tokenizer& tokenizer,
                                                    const EncodeSentenceOptions& options) {
  std::vector<EncodedSentence> out(sentences.size());
  encode_texts(std::ssize(sentences), options.name,
               [&](size_t i) { out[i] = encode_sentence(sentences[i], tokenizer, options); });
  return out;
}

Candidate Translator::candidate(const Hypothesis& hypothesis) const {
  return {.text = target_.decode(hypothesis.ids),
          .score = hypothesis.score,
          .log_probability = hypothesis.log_probability,
          .tokens = tokens_of(hypothesis.ids, target_),
          .alignment = hypothesis.alignment};
}

// The tokens of the translations that the terms of a sentence must have.
std::vector<std::vector<int32_t>> Translator::phrases_of(const Terminology& terms,
                                                         std::string_view sentence) const {
  std::vector<std::vector<int32_t>> phrases;
  for (const std::string& translation : terms.translations(sentence)) {
    phrases.push_back(encode_within(target_, translation));
    const std::vector<int32_t>& ids = phrases.back();
    require<UsageError>(!ids.empty() && std::find(ids.begin(), ids.end(), target_.special().unk) == ids.end(),
                        "terms", "{} has characters that the vocabulary of this model lacks",
                        quoted_name(translation));
  }
  return phrases;
}

SearchOptions Translator::search_options_of(const TranslateOptions& options) const {
  const SpecialTokens& special = target_.special();
  SearchOptions how = options.search;
  how.max_tokens = 4 * options.batch_tokens;
  how.bos = special.bos;
  how.eos = special.eos;
  how.suppress_tokens = special.suppressed;
  how.forced_first_token = special.forced_first;
  if (!options.target_language.empty())
    how.forced_first_token = language_token(target_, options.target_language, "target-language");
  return how;
}

void check_options(const TranslateOptions& options) {
  visit_options(options, CheckRanges{"Translator"});
  check_options(options.search);
}

std::vector<Translation> Translator::translate(std::span<const std::string> sentences,
                                               const TranslateOptions& options,
                                               const ProgressFunction& progress) const {
  check_options(options);
  SearchOptions how = search_options_of(options);
  check_options(how, model_->config());
  require<UsageError>(options.prefixes.empty() || options.prefixes.size() == sentences.size(), "Translator",
                      "there must be one prefix for each of the {} sentences, or none, got {}", sentences.size(),
                      options.prefixes.size());
  const int64_t longest = input_limit(model_->config(), options.max_input_tokens);
  const std::vector<EncodedSentence> sources =
      encode_all(sentences, source_,
                 {.max_tokens = longest, .name = "sentence", .frame = source_frame(options.source_language)});
  std::vector<EncodedSentence> prefixes =
      encode_all(options.prefixes, target_, {.max_tokens = longest, .name = "prefix", .frame = target_frame()});
  std::vector<Translation> out(sentences.size());
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < sources.size(); ++i) {
    lengths.push_back(sources[i].blank() ? 0 : static_cast<int64_t>(sources[i].ids.size()));
    out[i].source_tokens = sources[i].tokens(source_);
    out[i].truncated = sources[i].truncated || (!prefixes.empty() && prefixes[i].truncated);
    if (!prefixes.empty()) {
      prefixes[i].ids.pop_back();  // eos
      if (how.forced_first_token) prefixes[i].ids.insert(prefixes[i].ids.begin(), *how.forced_first_token);
    }
    if (sources[i].blank()) out[i].n_best.emplace_back();
  }
  if (!prefixes.empty()) how.forced_first_token.reset();
  std::vector<std::vector<std::vector<int32_t>>> phrases(options.terms.empty() ? 0 : sentences.size());
  if (!phrases.empty()) {
    const Terminology terms(options.terms);
    encode_texts(std::ssize(sentences), "sentence",
                 [&](size_t i) { phrases[i] = phrases_of(terms, sentences[i]); });
  }
  int64_t done = std::count(lengths.begin(), lengths.end(), 0);
  for (const std::vector<size_t>& batch :
       length_batches(lengths, {.tokens = options.batch_tokens / options.search.beam,
                               .equal = model_->config().depends_on_length(),
                               .enough = LengthBatchesOptions::any_number})) {
    std::vector<std::vector<int32_t>> rows, first, candidates;
    std::vector<std::vector<std::vector<int32_t>>> required;
    for (const size_t i : batch) {
      rows.push_back(sources[i].ids);
      if (!phrases.empty()) required.push_back(phrases[i]);
      if (!prefixes.empty()) first.push_back(prefixes[i].ids);
      if (options.shortlist) candidates.push_back(options.shortlist->candidates(sources[i].ids));
    }
    const PaddedBatch source = pad_batch(rows);
    const auto found = search(*model_, source.ids, source.lengths, how,
                              {.prefixes = first, .phrases = required, .candidates = candidates});
    for (size_t b = 0; b < batch.size(); ++b) {
      Translation& translation = out[batch[b]];
      for (const Hypothesis& hypothesis : found[b]) translation.n_best.push_back(candidate(hypothesis));
      static_cast<Candidate&>(translation) = translation.n_best.front();
    }
    done += static_cast<int64_t>(batch.size());
    if (progress) progress(done);
  }
  return out;
}

Translation Translator::translate(const std::string& sentence, const TranslateOptions& options) const {
  return translate(std::span(&sentence, 1), options).front();
}

std::vector<PairScore> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                         const ScorePairsOptions& options, const ProgressFunction& progress) const {
  require<InputError>(sources.size() == targets.size(), "score",
                      "there must be one target for each source, got {} sources and {} targets", sources.size(),
                      targets.size());
  visit_options(options, CheckRanges{"score"});
  const int64_t longest = input_limit(model_->config(), options.max_input_tokens);
  const std::vector<EncodedSentence> from = encode_all(
                                         sources, source_,
                                         {.max_tokens = longest, .name = "source", .frame = source_frame("")}),
                                     to = encode_all(
                                         targets, target_,
                                         {.max_tokens = longest, .name = "target", .frame = target_frame()});
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < from.size(); ++i)
    lengths.push_back(static_cast<int64_t>(std::max(from[i].ids.size(), to[i].ids.size())));
  std::vector<PairScore> out(sources.size());
  int64_t done = 0;
  // Sources and targets of a batch have two lengths; a model that depends on them gets pairs one by one.
  const int64_t tokens = model_->config().depends_on_length() ? 1 : options.batch_tokens;
  for (const std::vector<size_t>& batch : length_batches(lengths, {tokens})) {
    std::vector<std::vector<int32_t>> rows, targets_of_batch;
    for (const size_t i : batch) {
      rows.push_back(from[i].ids);
      targets_of_batch.emplace_back(to[i].ids.begin(), to[i].ids.end() - 1);
    }
    const PaddedBatch source = pad_batch(rows);
    const std::vector<TargetScore> scores =
        score_targets(*model_, source.ids, source.lengths, targets_of_batch,
                      {.bos = target_.special().bos, .eos = target_.special().eos});
    for (size_t b = 0; b < batch.size(); ++b)
      out[batch[b]] = {.log_probability = scores[b].log_probability,
                       .token_log_probabilities = scores[b].token_log_probabilities,
                       .tokens = to[batch[b]].tokens(target_),
                       .truncated = from[batch[b]].truncated || to[batch[b]].truncated};
    done += static_cast<int64_t>(batch.size());
    if (progress) progress(done);
  }
  return out;
}

}  // namespace qkv
