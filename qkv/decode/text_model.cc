#include "qkv/decode/text_model.h"

#include <utility>

#include "qkv/model/family/read_family.h"
#include "qkv/model/model_file.h"
#include "qkv/text/published_tokenizer.h"

namespace qkv {

TextModel read_text_model(const std::filesystem::path& folder) {
  return read_together(folder, [&] {
    SavedModel saved = read_model(folder);
    saved.model->pack_for_inference();
    if (is_published(folder)) {
      TextModel out{std::move(saved.model), read_published_tokenizer(folder, TokenizerSide::source)};
      check_vocabulary(*out.model, out.tokenizer, folder.string());
      return out;
    }
    const bool pairs = !is_language_model(saved.model->config().architecture);
    const char* file = pairs ? "source.model" : "tokenizer.model";
    TextModel out{std::move(saved.model), Tokenizer::load(find_in_model(folder, file), saved.sums[file])};
    check_vocabulary(*out.model, out.tokenizer, folder.string());
    return out;
  });
}

TextFrame frame_of(const Tokenizer& tokenizer, Architecture architecture) {
  const SpecialTokens& special = tokenizer.special();
  if (special.frame) return *special.frame;
  TextFrame frame;
  if (is_language_model(architecture)) frame.before = {special.bos};
  if (architecture != Architecture::causal) frame.after = {special.eos};
  return frame;
}

void check_vocabulary(const Model& model, const Tokenizer& tokenizer, const std::string& where) {
  const TransformerConfig& config = model.config();
  if (tokenizer.special().frame) {
    require<InputError>(tokenizer.size() <= config.source_vocabulary, where,
                        "the vocabulary has {} tokens, the model has {}", tokenizer.size(),
                        config.source_vocabulary);
    return;
  }
  const int64_t mask = config.architecture == Architecture::masked ? 1 : 0;
  require<InputError>(tokenizer.size() + mask == config.source_vocabulary, where,
                      "the vocabulary has {} tokens{}, the model expects {}", tokenizer.size(),
                      mask == 1 ? " and the mask" : "", config.source_vocabulary);
}

}  // namespace qkv
