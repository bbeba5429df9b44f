#include "qkv/pipeline/text_generation.h"

#include <utility>

namespace qkv {

TextGeneration::TextGeneration(std::shared_ptr<const CausalTransformer> model, Tokenizer tokenizer,
                               const EncodedPrompt& prompt, const GenerateOptions& options,
                               const std::vector<std::string>& stop)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      stream_(tokenizer_, stop, prompt.ids),
      rows_(model_->start(1)),
      generation_(std::make_unique<Generation>(*rows_, std::span(&prompt.ids, 1), options)),
      truncated_(prompt.truncated) {}

std::optional<std::string> TextGeneration::next() {
  while (!done_) {
    std::string piece;
    const bool more = generation_->step([&](size_t, int32_t id) {
      piece += stream_.append(id);
      return !stream_.stopped();
    });
    if (!more) {
      piece += stream_.finish();
      done_ = true;
    }
    const Generated& found = generation_->found().front();
    result_.text += piece;
    result_.log_probability = result_.score = found.log_probability;
    result_.end = found.end;
    for (size_t i = result_.tokens.size(); i < found.ids.size(); ++i)
      result_.tokens.push_back(tokenizer_.token(found.ids[i]));
    if (!piece.empty()) return piece;
  }
  return {};
}

}  // namespace qkv
