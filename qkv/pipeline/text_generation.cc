#include "qkv/pipeline/text_generation.h"

#include <utility>

namespace qkv {

TextGeneration::TextGeneration(PromptRow row, Tokenizer tokenizer, const EncodedPrompt& prompt,
                               const GenerateOptions& options, const std::vector<std::string>& stop)
    : tokenizer_(std::move(tokenizer)),
      stream_(tokenizer_, stop, prompt.ids),
      row_(std::move(row)),
      generation_(std::make_unique<Generation>(row_.decoding(), std::span(&prompt.ids, 1), options)),
      truncated_(prompt.truncated) {}

bool TextGeneration::step(std::string& piece) {
  try {
    return generation_->step([&](size_t, int32_t id) {
      piece += stream_.append(id);
      return !stream_.stopped();
    });
  } catch (...) {
    row_.free();
    throw;
  }
}

std::optional<std::string> TextGeneration::next() {
  while (!done_) {
    std::string piece;
    if (!step(piece)) {
      piece += stream_.finish();
      done_ = true;
    }
    const Generated& found = generation_->found().front();
    result_.text += piece;
    result_.log_probability = result_.score = found.log_probability;
    result_.end = found.end;
    result_.speculated = found.speculated;
    for (size_t i = result_.tokens.size(); i < found.ids.size(); ++i)
      result_.tokens.push_back(tokenizer_.token(found.ids[i]));
    if (done_) row_.give_back();
    if (!piece.empty()) return piece;
  }
  return {};
}

}  // namespace qkv
