#include "qkv/decode/inspect.h"

#include "qkv/base/error.h"
#include "qkv/decode/padded.h"

namespace qkv {
namespace {

struct Target {
  std::string text;
  std::vector<int32_t> ids;  // the end last
  bool truncated;
};

Target chosen_target(const Translator& translator, const Sentence& source, const InspectOptions& options) {
  const int64_t positions = translator.model().config().max_length;
  if (options.target) {
    const Sentence given =
        read_sentence(*options.target, translator.target(), {.positions = positions, .name = "target"});
    return {*options.target, given.ids, given.truncated};
  }
  Target out{.text = {}, .ids = {}, .truncated = false};
  if (!source.blank()) {
    const Padded row = padded(std::span(&source.ids, 1));
    out.ids = search(translator.model(), row.ids, row.lengths, search_options(options.translate))[0][0].ids;
    out.text = translator.target().decode(out.ids);
  }
  out.ids.push_back(Tokenizer::eos);
  return out;
}

}  // namespace

Inspection inspect(const Translator& translator, const std::string& sentence, const InspectOptions& options) {
  const Transformer& model = translator.model();
  const Sentence source = read_sentence(sentence, translator.source(), {.positions = model.config().max_length});
  const Target target = chosen_target(translator, source, options);
  const std::vector<std::vector<int32_t>> rows = {source.ids},
                                          targets = {{target.ids.begin(), target.ids.end() - 1}};
  const Padded from = padded(rows), in = padded(targets, {.before = Tokenizer::bos});

  const NoGrad guard;
  AttentionLog log;
  Pass pass{.log = &log};
  model.decode(in.ids, model.encode(from.ids, from.lengths, pass), pass);
  const TargetScore score = score_targets(model, from.ids, from.lengths, targets)[0];

  Inspection out{.text = target.text,
                 .log_probability = score.log_probability,
                 .token_log_probabilities = score.token_log_probabilities,
                 .tokens = tokens_of(target.ids, translator.target()),
                 .truncated = source.truncated || target.truncated,
                 .attention = {}};
  const std::vector<std::string> read = source.tokens(translator.source());
  const std::vector<std::string> inputs = tokens_of(in.ids.span<int32_t>(), translator.target());
  out.attention = {{"encoder self-attention", {}, read, read},
                   {"decoder self-attention", {}, out.tokens, inputs},
                   {"cross-attention", {}, out.tokens, read}};
  for (const AttentionLog::Entry& entry : log.entries) {
    const size_t kind = entry.name.starts_with("encoder") ? 0 : entry.name.ends_with("self_attention") ? 1 : 2;
    out.attention[kind].layers.push_back(entry.weights.select(0, 0));
  }
  return out;
}

}  // namespace qkv
