#include "qkv/pipeline/generator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/base/random.h"
#include "qkv/decode/generate_many.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/option_table.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/encoded_sentence.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/pipeline/text_stream.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/text_model.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// The random numbers of an answer to a prompt.
uint64_t stream_of(const GenerateTextOptions& options, size_t prompt, size_t answer) {
  const auto offset = static_cast<int64_t>(prompt);
  return mix(
      static_cast<uint64_t>(options.first_prompt + (options.offsets.empty() ? offset : options.offsets[prompt])),
      answer);
}

// Whether the distribution that tokens are drawn from is changed.
bool changes_distribution(const SamplingOptions& options) {
  SamplingOptions of_model;
  of_model.seed = options.seed, of_model.suppress_tokens = options.suppress_tokens;
  return options != of_model;
}

SearchOptions search_options(const GenerateTextOptions& o, const SpecialTokens& special) {
  return {.beam = o.beam,
          .length_penalty = o.length_penalty,
          .length_normalization = o.length_normalization,
          .n_best = o.answers,
          .min_length = o.min_tokens,
          .max_tokens = 4 * o.batch_tokens,
          .eos = special.eos,
          .suppress_tokens = special.suppressed};
}

}  // namespace

void check_options(const GenerateTextOptions& o) {
  visit_options(o, CheckRanges{"Generator"});
  const StopStrings checks(o.stop);
  if (o.beam == 1) {
    require<UsageError>(o.answers == 1 || o.sampling.temperature > 0, "Generator",
                        "temperature 0 has one answer, got answers {}: give a temperature above 0, or a beam",
                        o.answers);
    return;
  }
  require<UsageError>(o.answers <= o.beam, "Generator", "answers must be at most the beam of {}, got {}", o.beam,
                      o.answers);
  require<UsageError>(!changes_distribution(o.sampling), "Generator",
                      "beam {} finds the most likely texts: it excludes {}", o.beam, name_list(sampling_names()));
  require<UsageError>(o.stop.empty(), "Generator", "beam {} excludes stop strings", o.beam);
  require<UsageError>(o.lookup == 0, "Generator", "beam {} excludes lookup, which proposes tokens of one text",
                      o.beam);
}

double TextScore::perplexity() const {
  return tokens.empty() ? 1 : std::exp(-log_probability / static_cast<double>(tokens.size()));
}

Generator::Generator(const std::filesystem::path& folder, const InferenceOptions& options)
    : Generator(read_text_model(folder, options)) {}

Generator::Generator(const TextModel& from)
    : Generator(model_as<CausalTransformer>(from, from.folder->path().string(), "it does not generate text"),
                from.tokenizer, from.folder->path().string()) {
  defaults_ = generate_defaults(*from.folder);
  chat_template_ = from.folder->chat_template();
}

Generator::Generator(std::shared_ptr<const CausalTransformer> model, Tokenizer tokenizer, const std::string& name)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {
  check_vocabulary(*model_, tokenizer_, name);
  check_head(*model_, name);
}

Generator::Generator(CausalTransformer model, Tokenizer tokenizer, const std::string& name)
    : Generator(std::make_shared<const CausalTransformer>(std::move(model)), std::move(tokenizer), name) {}

std::vector<EncodedPrompt> Generator::encode_prompts(std::span<const std::string> prompts,
                                                     const GenerateTextOptions& options) const {
  const std::vector<int32_t> before = frame_of(tokenizer_, Architecture::causal).before;
  const SpecialTokens& special = tokenizer_.special();
  // A prompt that leaves no position for an answer is cut to half of the positions.
  const int64_t limit = model_->config().position_limit();
  const int64_t wanted = input_limit(model_->config(), options.max_input_tokens);
  const int64_t longest = std::min(wanted, limit - 1);
  const int64_t kept = wanted == limit ? limit / 2 : std::max<int64_t>(0, wanted - std::ssize(before));
  std::vector<EncodedPrompt> out(prompts.size());
  encode_texts(std::ssize(out), "prompt", [&](size_t i) {
    check_utf8(prompts[i]);
    std::vector<int32_t> ids = tokenizer_.encode(prompts[i], {.parse_special = options.parse_special});
    out[i].truncated = std::ssize(ids) + std::ssize(before) > longest;
    if (out[i].truncated) ids.erase(ids.begin(), ids.end() - std::min<int64_t>(kept, std::ssize(ids)));
    ids.insert(ids.begin(), before.begin(), before.end());
    if (ids.empty() && special.bos >= 0) ids.push_back(special.bos);
    require<InputError>(!ids.empty(), "prompt", "it is empty, and the vocabulary has no token that begins a text");
    out[i].ids = std::move(ids);
  });
  return out;
}

GenerateOptions Generator::token_options(const GenerateTextOptions& options) const {
  GenerateOptions out{.eos = tokenizer_.special().ends,
                      .max_tokens = options.max_tokens,
                      .min_tokens = options.min_tokens,
                      .position_limit = model_->config().position_limit(),
                      .sampling = options.sampling,
                      .scores = options.scores};
  if (options.lookup > 0)
    out.proposer = lookup_proposer(options.lookup);
  else if (draft_)
    out.proposer = draft_proposer(draft_, options.draft_tokens);
  for (const int32_t id : tokenizer_.special().suppressed) out.sampling.suppress_tokens.push_back(id);
  return out;
}

// Row u is answer u % answers to prompt u / answers.
void Generator::sample(std::span<const EncodedPrompt> prompts, const GenerateTextOptions& options,
                       const ProgressFunction& progress, std::span<GeneratedTexts> out) const {
  const auto answers = static_cast<size_t>(options.answers);
  std::vector<std::vector<int32_t>> rows;
  std::vector<TextStream> texts;
  GenerateManyOptions how = {.batch_tokens = options.batch_tokens, .generate = token_options(options)};
  for (size_t i = 0; i < prompts.size(); ++i)
    for (size_t n = 0; n < answers; ++n) {
      rows.push_back(prompts[i].ids);
      texts.emplace_back(tokenizer_, options.stop, prompts[i].ids);
      how.generate.streams.push_back(stream_of(options, i, n));
    }
  const std::vector<Generated> found = generate_many([&](int64_t count) { return model_->start(count); }, rows, how,
                                                     [&](size_t row, int32_t id) {
                                                       texts[row].append(id);
                                                       return !texts[row].stopped();
                                                     },
                                                     [&](int64_t ended) {
                                                       if (progress) progress(ended / options.answers);
                                                     });
  for (size_t r = 0; r < found.size(); ++r) {
    if (!texts[r].stopped()) texts[r].finish();
    out[r / answers].answers.push_back({.text = texts[r].text(),
                                        .tokens = tokens_of(found[r].ids, tokenizer_),
                                        .log_probability = found[r].log_probability,
                                        .score = found[r].log_probability,
                                        .end = found[r].end,
                                        .speculated = found[r].speculated});
  }
}

void Generator::search_beams(std::span<const EncodedPrompt> prompts, const GenerateTextOptions& options,
                             const ProgressFunction& progress, std::span<GeneratedTexts> out) const {
  std::vector<int64_t> lengths;
  for (const EncodedPrompt& prompt : prompts)
    lengths.push_back(std::min(model_->config().position_limit(), std::ssize(prompt.ids) + options.max_tokens));
  int64_t done = 0;
  for (const std::vector<size_t>& batch : length_batches(
           lengths, {.tokens = options.batch_tokens / options.beam, .enough = LengthBatchesOptions::any_number})) {
    search_batch(prompts, batch, options, out);
    done += std::ssize(batch);
    if (progress) progress(done);
  }
}

void Generator::search_batch(std::span<const EncodedPrompt> prompts, std::span<const size_t> batch,
                             const GenerateTextOptions& options, std::span<GeneratedTexts> out) const {
  const int64_t limit = model_->config().position_limit();
  SearchTask task;
  task.start = [&](std::span<const int64_t> rows) { return model_->start(std::ssize(rows)); };
  for (const size_t i : batch) {
    task.first.push_back(prompts[i].ids);
    task.max_lengths.push_back(std::min(options.max_tokens, limit + 1 - std::ssize(prompts[i].ids)));
  }
  const std::vector<std::vector<Hypothesis>> found = search(task, search_options(options, tokenizer_.special()));
  for (size_t b = 0; b < found.size(); ++b)
    for (const Hypothesis& hypothesis : found[b]) {
      TextStream text(tokenizer_, {}, task.first[b]);
      for (const int32_t id : hypothesis.ids) text.append(id);
      text.finish();
      const bool longest = std::ssize(hypothesis.ids) == task.max_lengths[b];
      out[batch[b]].answers.push_back({.text = text.text(),
                                       .tokens = tokens_of(hypothesis.ids, tokenizer_),
                                       .log_probability = hypothesis.log_probability,
                                       .score = hypothesis.score,
                                       .end = !longest ? Generated::End::eos
                                              : task.max_lengths[b] < options.max_tokens
                                                  ? Generated::End::position_limit
                                                  : Generated::End::max_tokens});
    }
}

std::vector<GeneratedTexts> Generator::generate(std::span<const std::string> prompts,
                                                const GenerateTextOptions& options,
                                                const ProgressFunction& progress) const {
  check_options(options);
  require<UsageError>(options.offsets.empty() || options.offsets.size() == prompts.size(), "Generator",
                      "there must be one offset for each of the {} prompts, or none, got {}", prompts.size(),
                      options.offsets.size());
  const std::vector<EncodedPrompt> encoded = encode_prompts(prompts, options);
  std::vector<GeneratedTexts> out(prompts.size());
  for (size_t i = 0; i < encoded.size(); ++i) out[i].truncated = encoded[i].truncated;
  if (options.beam == 1) {
    sample(encoded, options, progress, out);
  } else {
    search_beams(encoded, options, progress, out);
  }
  return out;
}

GeneratedTexts Generator::generate(const std::string& prompt, const GenerateTextOptions& options) const {
  return generate(std::span(&prompt, 1), options).front();
}

TextGeneration Generator::stream(const std::string& prompt, const GenerateTextOptions& options) const {
  check_options(options);
  require<UsageError>(options.beam == 1, "Generator::stream",
                      "beam {} knows its text only at the end: streaming needs beam 1", options.beam);
  GenerateOptions how = token_options(options);
  how.streams = {stream_of(options, 0, 0)};
  const EncodedPrompt encoded = encode_prompts(std::span(&prompt, 1), options).front();
  return {PromptRow(model_, encoded.ids), tokenizer_, encoded, how, options.stop};
}

void Generator::set_draft(const Generator& draft) {
  const Tokenizer& theirs = draft.tokenizer_;
  require<InputError>(theirs.token_count() == tokenizer_.token_count(), "draft",
                      "the draft model must have the vocabulary of the model, {} tokens, got {}",
                      tokenizer_.token_count(), theirs.token_count());
  for (int64_t id = 0; id < tokenizer_.token_count(); ++id) {
    const std::string &token = tokenizer_.token(static_cast<int32_t>(id)),
                      &other = theirs.token(static_cast<int32_t>(id));
    require<InputError>(token == other, "draft",
                        "the draft model must have the vocabulary of the model: token {} must be {}, got {}", id,
                        quoted_name(token), quoted_name(other));
  }
  draft_ = draft.model_;
}

std::vector<TextScore> Generator::score(std::span<const std::string> texts, const ScoreTextOptions& options,
                                        const ProgressFunction& progress) const {
  visit_options(options, CheckRanges{"score"});
  const SpecialTokens& special = tokenizer_.special();
  const int32_t eos = tokenizer_.document_end();
  const ScoreDocumentsOptions how = {.context = options.context,
                                     .stride = options.stride,
                                     .batch_tokens = options.batch_tokens,
                                     .bos = special.bos,
                                     .eos = eos};
  check_options(how, model_->config());
  std::vector<std::vector<int32_t>> ids(texts.size());
  encode_texts(std::ssize(ids), "text", [&](size_t i) {
    check_utf8(texts[i]);
    ids[i] = tokenizer_.encode(texts[i], {.parse_special = options.parse_special});
  });
  std::vector<size_t> indices;  // of the texts that are not blank
  std::vector<std::vector<int32_t>> documents;
  for (size_t i = 0; i < ids.size(); ++i)
    if (!ids[i].empty()) {
      indices.push_back(i);
      documents.push_back(ids[i]);
    }
  const auto blank = std::ssize(texts) - std::ssize(documents);
  const std::vector<TargetScore> scores = score_documents(*model_, documents, how, [&](int64_t done) {
    if (progress) progress(done + blank);
  });
  std::vector<TextScore> out(texts.size());
  for (size_t d = 0; d < scores.size(); ++d) {
    std::vector<int32_t> scored = documents[d];
    if (special.bos < 0) scored.erase(scored.begin());
    if (eos >= 0) scored.push_back(eos);
    out[indices[d]] = {.log_probability = scores[d].log_probability,
                       .token_log_probabilities = scores[d].token_log_probabilities,
                       .tokens = tokens_of(scored, tokenizer_)};
  }
  return out;
}

}  // namespace qkv
