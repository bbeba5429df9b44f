#include "qkv/decode/inspect.h"

#include "qkv/base/error.h"
#include "qkv/decode/padded_batch.h"

namespace qkv {
namespace {

struct Target {
  std::string text;
  std::vector<int32_t> ids;  // eos last
  bool truncated;
};

Target chosen_target(const Translator& translator, const EncodedSentence& source, const Encoded& encoded,
                     const InspectOptions& options) {
  if (options.target) {
    const int64_t limit = translator.model().config().position_limit();
    const EncodedSentence given =
        encode_sentence(*options.target, translator.target(), {.max_tokens = limit, .name = "target"});
    return {*options.target, given.ids, given.truncated};
  }
  Target out{.text = {}, .ids = {}, .truncated = false};
  if (!source.blank()) {
    SearchOptions how = search_options(options.translate);
    how.alignment = false;
    out.ids = search(translator.model(), encoded, how)[0][0].ids;
    out.text = translator.target().decode(out.ids);
  }
  out.ids.push_back(Tokenizer::eos);
  return out;
}

}  // namespace

Inspection inspect(const Translator& translator, const std::string& sentence, const InspectOptions& options) {
  const EncoderDecoder& model = translator.model();
  const EncodedSentence source =
      encode_sentence(sentence, translator.source(), {.max_tokens = model.config().position_limit()});
  const NoGrad guard;
  AttentionLog log;
  Pass pass{.log = &log};
  const PaddedBatch row = pad_batch(std::span(&source.ids, 1));
  const Encoded encoded = model.encode(row.ids, row.lengths, pass);
  const Target target = chosen_target(translator, source, encoded, options);
  const std::vector<std::vector<int32_t>> targets = {{target.ids.begin(), target.ids.end() - 1}};
  const TargetScore score = score_targets(model, encoded, targets, {.log = &log})[0];

  Inspection out{.text = target.text,
                 .log_probability = score.log_probability,
                 .token_log_probabilities = score.token_log_probabilities,
                 .tokens = tokens_of(target.ids, translator.target()),
                 .truncated = source.truncated || target.truncated,
                 .attention = {}};
  const std::vector<std::string> sources = source.tokens(translator.source());
  std::vector<std::string> inputs = tokens_of(targets[0], translator.target());
  inputs.insert(inputs.begin(), translator.target().token(Tokenizer::bos));
  out.attention = {{AttentionUse::encoder, "encoder self-attention", {}, sources, sources},
                   {AttentionUse::decoder, "decoder self-attention", {}, out.tokens, inputs},
                   {AttentionUse::cross, "cross-attention", {}, out.tokens, sources}};
  for (AttentionMaps& maps : out.attention) {
    const bool encoder = maps.use == AttentionUse::encoder;
    const int64_t layers = encoder ? model.config().encoder_layers : model.cross_attention_layers();
    for (int64_t layer = 0; layer < layers; ++layer)
      maps.layers.push_back(log.weights(maps.use, layer)
                                .select(0, 0)
                                .slice(1, 0, static_cast<int64_t>(maps.rows.size()))
                                .slice(2, 0, static_cast<int64_t>(maps.columns.size()))
                                .contiguous_copy());
  }
  return out;
}

}  // namespace qkv
