#include "qkv/interpret/repeated_tokens.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/decode/score_documents.h"

namespace qkv {
namespace {

constexpr int64_t default_length = 50;

std::vector<int32_t> random_tokens(const Tokenizer& tokenizer, int64_t length, uint64_t seed) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.is_text(id)) ids.push_back(id);
  require<InputError>(!ids.empty(), "repeated_tokens", "the vocabulary has no tokens of text");
  Random random(seed);
  random.shuffle(std::span(ids));
  const size_t different = ids.size();
  while (std::ssize(ids) < length) ids.push_back(ids[random.below(different)]);
  ids.resize(static_cast<size_t>(length));
  return ids;
}

}  // namespace

AttentionMaps repeated_tokens(const Generator& generator, const RepeatedTokensOptions& options) {
  const CausalTransformer& model = generator.model();
  const Tokenizer& tokenizer = generator.tokenizer();
  const ModelConfig& config = model.config();
  const int64_t n =
      options.length != 0 ? options.length : std::min(default_length, (config.default_context() - 1) / 2);
  require<UsageError>(n >= 2 && n <= (config.position_limit() - 1) / 2, "repeated_tokens",
                      "the length must be 2 to {}, so that the model has positions for two copies, got {}",
                      (config.position_limit() - 1) / 2, n);
  std::vector<int32_t> ids = random_tokens(tokenizer, n, options.seed);
  ids.insert(ids.end(), ids.begin(), ids.begin() + n);
  const int32_t bos = tokenizer.special().bos;
  AttentionLog log;
  score_documents(model, std::span(&ids, 1),
                  {.context = 2 * n + 1, .stride = 2 * n + 1, .bos = bos, .eos = -1, .log = &log});
  if (bos >= 0) ids.insert(ids.begin(), bos);

  AttentionMaps maps{.use = AttentionUse::decoder, .title = "self-attention to random tokens, read twice"};
  for (size_t i = 0; i + 1 < ids.size(); ++i) {  // the last one predicts nothing
    maps.columns.push_back(tokenizer.token(ids[i]));
    maps.rows.push_back(tokenizer.token(ids[i + 1]));
  }
  for (int64_t layer = 0; layer < config.transformer().decoder_layers; ++layer)
    maps.layers.push_back(log.weights(maps.use, layer).select(0, 0).contiguous_copy());
  return maps;
}

}  // namespace qkv
