#include "qkv/published/text_model.h"

#include <utility>

#include "qkv/published/load_model.h"

namespace qkv {

TextModel read_text_model(const std::filesystem::path& folder, const InferenceOptions& options) {
  return read_together(folder, [&] {
    SavedModel saved = read_model_for_inference(folder, options);
    Tokenizer tokenizer = saved.folder->tokenizer(TokenizerSide::source);
    TextModel out{std::move(saved.model), std::move(tokenizer), std::move(saved.folder)};
    check_vocabulary(*out.model, out.tokenizer, folder.string());
    return out;
  });
}

TextFrame frame_of(const Tokenizer& tokenizer, Architecture architecture) {
  return tokenizer.frame(is_language_model(architecture), architecture != Architecture::causal);
}

void check_vocabulary(const Model& model, const Tokenizer& tokenizer, const std::string& where) {
  const ModelConfig& config = model.config();
  const int64_t rows = tokenizer.rows(config.architecture() == Architecture::masked);
  require<InputError>(rows == config.source_vocabulary(), where,
                      "the vocabulary has {} tokens{}, the model expects {}", tokenizer.size(),
                      rows > tokenizer.size() ? " and the mask" : "", config.source_vocabulary());
}

void check_head(const Model& model, const std::string& where) {
  require<InputError>(model.config().has_head(), where,
                      "this model has no head for the logits of tokens: it gives embeddings only (qkv embed)");
}

}  // namespace qkv
