#include "qkv/text/model_tokenizer.h"

#include "qkv/model/family/read_family.h"

namespace qkv {

const char* tokenizer_file(Architecture architecture, TokenizerSide side) {
  if (is_language_model(architecture)) return "tokenizer.model";
  return side == TokenizerSide::source ? "source.model" : "target.model";
}

Tokenizer read_model_tokenizer(const std::filesystem::path& folder, const TransformerConfig& config,
                               TokenizerSide side, const VocabularyChecksums& sums) {
  if (is_published(folder)) {
    const bool is_source = side == TokenizerSide::source;
    return read_published_tokenizer(folder, side, is_source ? config.source_vocabulary : config.target_vocabulary);
  }
  const char* file = tokenizer_file(config.architecture, side);
  const auto sum = sums.find(file);
  return Tokenizer::load(find_in_model(folder, file), sum == sums.end() ? "" : sum->second);
}

}  // namespace qkv
