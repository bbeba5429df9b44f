#include "qkv/decode/text_model.h"

#include <utility>

#include "qkv/model/model_file.h"

namespace qkv {

TextModel read_text_model(const std::filesystem::path& folder) {
  return read_together(folder, [&] {
    SavedModel saved = read_model(folder);
    saved.model->pack_for_inference();
    const bool pairs = !is_language_model(saved.model->config().architecture);
    const char* file = pairs ? "source.model" : "tokenizer.model";
    TextModel out{std::move(saved.model), Tokenizer::load(find_in_model(folder, file), saved.sums[file])};
    check_vocabulary(*out.model, out.tokenizer, folder.string());
    return out;
  });
}

void check_vocabulary(const Model& model, const Tokenizer& tokenizer, const std::string& where) {
  const TransformerConfig& config = model.config();
  const int64_t mask = config.architecture == Architecture::masked ? 1 : 0;
  require<InputError>(tokenizer.size() + mask == config.source_vocabulary, where,
                      "the vocabulary has {} tokens{}, the model expects {}", tokenizer.size(),
                      mask == 1 ? " and the mask" : "", config.source_vocabulary);
}

}  // namespace qkv
