#include "qkv/pipeline/encode_texts.h"

#include <utility>

namespace qkv {
namespace {

std::string reason_of(const InputError& error) {
  return std::string(error.what()).substr(error.op().size() + std::string_view(": ").size());
}

}  // namespace

RefusedTexts::RefusedTexts(std::string_view name, std::vector<Text> texts)
    : InputError(fmt::format("{} {}", name, texts.at(0).index + 1), texts.at(0).reason), texts_(std::move(texts)) {}

void encode_texts(int64_t count, std::string_view name, FunctionRef<void(size_t)> encode) {
  std::vector<std::string> reasons(static_cast<size_t>(count));
  parallel_for(count, [&](int64_t i) {
    try {
      encode(static_cast<size_t>(i));
    } catch (const InputError& error) {
      reasons[static_cast<size_t>(i)] = reason_of(error);
    }
  });
  std::vector<RefusedTexts::Text> refused;
  for (size_t i = 0; i < reasons.size(); ++i)
    if (!reasons[i].empty()) refused.push_back({i, reasons[i]});
  if (!refused.empty()) throw RefusedTexts(name, std::move(refused));
}

int64_t input_limit(const ModelConfig& config, int64_t max_input_tokens) {
  const int64_t limit = config.position_limit();
  require<UsageError>(max_input_tokens >= 0 && max_input_tokens <= limit, "input_limit",
                      "max-input-tokens must be 0 to the model's {} tokens, got {}", limit, max_input_tokens);
  return max_input_tokens > 0 ? max_input_tokens : config.default_context();
}

}  // namespace qkv
