#include "qkv/pipeline/inspect.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/score_documents.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/marked_text.h"
#include "qkv/published/text_model.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

struct Target {
  std::string text;
  std::vector<int32_t> ids;  // eos last
  bool truncated;
};

// The maps of an inspection: each has a weight for every pair of tokens.
int64_t maps_of(const TransformerConfig& c) {
  const int64_t decoder_heads = c.decoder_heads > 0 ? c.decoder_heads : c.heads;
  int64_t maps = 0;
  if (c.has_encoder()) maps += c.encoder_layers * c.heads;
  if (c.has_decoder()) maps += c.decoder_layers * decoder_heads * (c.has_encoder() ? 2 : 1);
  return maps;
}
int64_t maps_of(const RecurrentConfig&) { return 1; }

int64_t limit_of(const ModelConfig& config, int64_t max_input_tokens) {
  return max_input_tokens == 0 ? inspection_limit(config) : input_limit(config, max_input_tokens);
}

// Keeps at most `limit` tokens of a text, and returns whether there were more.
bool cut(std::vector<int32_t>& ids, int64_t limit) {
  if (std::ssize(ids) <= limit) return false;
  ids.resize(static_cast<size_t>(std::max<int64_t>(0, limit)));
  return true;
}

Target chosen_target(const Translator& translator, const EncodedSentence& source, const Encoded& encoded,
                     const InspectOptions& options, int64_t limit) {
  if (options.target) {
    const EncodedSentence given =
        encode_sentence(*options.target, translator.target(),
                        {.max_tokens = limit, .name = "target", .frame = translator.target_frame()});
    return {*options.target, given.ids, given.truncated};
  }
  Target out{.text = {}, .ids = {}, .truncated = false};
  if (!source.blank()) {
    const TranslateOptions& translate = options.translate ? *options.translate : translator.defaults();
    SearchOptions how = translator.search_options_of(translate);
    how.alignment = false;
    std::vector<std::vector<int32_t>> candidates;
    if (translate.shortlist) candidates.push_back(translate.shortlist->candidates(source.ids));
    out.ids = search(translator.model(), encoded, how, {.candidates = candidates})[0][0].ids;
    out.truncated = cut(out.ids, limit - 1);
    out.text = translator.target().decode(out.ids);
  }
  out.ids.push_back(translator.target().special().eos);
  return out;
}

// Takes the weights of the only row of the batch, for the tokens of the maps.
void take_weights(AttentionMaps& maps, const AttentionLog& log, int64_t layers) {
  for (int64_t layer = 0; layer < layers; ++layer)
    maps.layers.push_back(log.weights(maps.use, layer)
                              .select(0, 0)
                              .slice(1, 0, std::ssize(maps.rows))
                              .slice(2, 0, std::ssize(maps.columns))
                              .contiguous_copy());
}

bool records(const AttentionLog& log, AttentionUse use) {
  return std::any_of(log.entries.begin(), log.entries.end(),
                     [&](const AttentionLog::Entry& entry) { return entry.source.use == use; });
}

// Of the self-attention of a decoder or a causal model.
constexpr const char* shifted_caption =
    "rows: the token produced, columns: the tokens read for it; shifted by one, the diagonal has the token before";

std::vector<std::string> after_bos(std::vector<std::string> tokens, const Tokenizer& tokenizer) {
  tokens.insert(tokens.begin(), tokenizer.token(tokenizer.special().bos));
  return tokens;
}

}  // namespace

int64_t inspection_limit(const ModelConfig& config) {
  constexpr double max_weights = 1 << 25;
  const int64_t maps = config.visit([](const auto& c) { return maps_of(c); });
  const auto tokens = static_cast<int64_t>(std::sqrt(max_weights / static_cast<double>(maps)));
  constexpr int64_t min_tokens = 64;
  return std::min(config.default_context(), std::max(tokens, min_tokens));
}

Inspection inspect(const Translator& translator, const std::string& sentence, const InspectOptions& options) {
  const EncoderDecoder& model = translator.model();
  const int64_t limit = limit_of(model.config(), options.max_input_tokens);
  const EncodedSentence source = encode_sentence(
      sentence, translator.source(),
      {.max_tokens = limit,
       .frame = translator.source_frame(options.translate.value_or(translator.defaults()).source_language)});
  const NoGrad guard;
  AttentionLog log;
  Pass pass{.log = &log};
  const PaddedBatch row = pad_batch(std::span(&source.ids, 1));
  const Encoded encoded = model.encode(row.ids, row.lengths, pass);
  const Target target = chosen_target(translator, source, encoded, options, limit);
  const std::vector<std::vector<int32_t>> targets = {{target.ids.begin(), target.ids.end() - 1}};
  const TargetScore score = score_targets(
      model, encoded, targets,
      {.bos = translator.target().special().bos, .eos = translator.target().special().eos, .log = &log})[0];

  Inspection out{.text = target.text,
                 .log_probability = score.log_probability,
                 .token_log_probabilities = score.token_log_probabilities,
                 .tokens = tokens_of(target.ids, translator.target()),
                 .truncated = source.truncated || target.truncated,
                 .attention = {}};
  const std::vector<std::string> sources = source.tokens(translator.source());
  const std::vector<std::string> inputs =
      after_bos(tokens_of(targets[0], translator.target()), translator.target());
  out.attention = {{AttentionUse::encoder, "encoder self-attention", {}, sources, sources, {}},
                   {AttentionUse::decoder, "decoder self-attention", {}, out.tokens, inputs, shifted_caption},
                   {AttentionUse::cross,
                    "cross-attention",
                    {},
                    out.tokens,
                    sources,
                    "rows: the token produced, columns: the tokens of the source"}};
  // A recurrent model has no self-attention.
  std::erase_if(out.attention, [&](const AttentionMaps& maps) { return !records(log, maps.use); });
  for (AttentionMaps& maps : out.attention)
    take_weights(maps, log,
                 maps.use == AttentionUse::encoder ? model.config().transformer().encoder_layers
                                                   : model.cross_attention_layers());
  return out;
}

Inspection inspect(const Generator& generator, const std::string& text, int64_t max_input_tokens) {
  check_utf8(text);
  const CausalTransformer& model = generator.model();
  const Tokenizer& tokenizer = generator.tokenizer();
  std::vector<int32_t> ids = tokenizer.encode(text);
  const SpecialTokens& special = tokenizer.special();
  const int64_t ends = (special.bos >= 0 ? 1 : 0) + (special.eos >= 0 ? 1 : 0);
  const int64_t limit = limit_of(model.config(), max_input_tokens);
  const bool truncated = cut(ids, limit + 1 - ends);
  require<InputError>(
      std::ssize(ids) + ends >= 2, "text",
      "it has fewer than two tokens, and the vocabulary has none that begins or ends a text: there is "
      "nothing to predict");
  AttentionLog log;
  const TargetScore score = score_documents(
      model, std::span(&ids, 1), {.context = limit, .bos = special.bos, .eos = special.eos, .log = &log})[0];
  Inspection out{.text = text,
                 .log_probability = score.log_probability,
                 .token_log_probabilities = score.token_log_probabilities,
                 .tokens = {},
                 .truncated = truncated,
                 .attention = {}};
  if (special.bos >= 0) ids.insert(ids.begin(), special.bos);
  if (special.eos >= 0) ids.push_back(special.eos);
  const std::vector<std::string> all = tokens_of(ids, tokenizer), inputs(all.begin(), all.end() - 1);
  out.tokens.assign(all.begin() + 1, all.end());
  AttentionMaps& maps = out.attention.emplace_back(
      AttentionMaps{AttentionUse::decoder, "self-attention", {}, out.tokens, inputs, shifted_caption});
  take_weights(maps, log, model.config().transformer().decoder_layers);
  return out;
}

Inspection inspect(const MaskFiller& filler, const std::string& text, const std::string& marker,
                   int64_t max_input_tokens) {
  const MaskedTransformer& model = filler.model();
  const Tokenizer& tokenizer = filler.tokenizer();
  const int64_t limit = limit_of(model.config(), max_input_tokens);
  const FilledText filled = filler.fill(text, {.marker = marker, .max_input_tokens = limit});
  std::vector<int32_t> ids = encode_marked(text, tokenizer, {.marker = marker, .id = filler.mask()});
  const auto [before, after] = frame_of(tokenizer, Architecture::masked);
  cut(ids, limit - std::ssize(before) - std::ssize(after));
  ids.insert(ids.begin(), before.begin(), before.end());
  ids.insert(ids.end(), after.begin(), after.end());
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int32_t id : ids) tokens.push_back(id == filler.mask() ? marker : tokenizer.token(id));

  AttentionLog log;
  Pass pass{.log = &log};
  const NoGrad guard;
  const PaddedBatch row = pad_batch(std::span(&ids, 1));
  model.encode(row.ids, row.lengths, pass);
  Inspection out{.text = filled.texts[0].text,
                 .log_probability = std::log(filled.texts[0].probability),
                 .token_log_probabilities = {},
                 .tokens = {tokens.begin() + 1, tokens.end()},
                 .truncated = filled.truncated,
                 .attention = {}};
  AttentionMaps& maps =
      out.attention.emplace_back(AttentionMaps{AttentionUse::encoder, "self-attention", {}, tokens, tokens, {}});
  take_weights(maps, log, model.config().transformer().encoder_layers);
  return out;
}

}  // namespace qkv
