// A vocabulary of numbers: the text "2 0 1" is the tokens 2, 0 and 1.
#include "qkv/text/published/formats.h"

namespace qkv {

Tokenizer number_tokenizer(const std::filesystem::path& folder, TokenizerSide, int64_t rows) {
  PieceIds ids;
  for (int32_t id = 0; id < rows; ++id) ids[fmt::format("{}", id)] = id;
  const SpecialTokens special = {
      .pad = -1, .bos = -1, .eos = -1, .unk = -1, .ends = {}, .suppressed = {}, .frame = TextFrame(), .rows = rows};
  return Tokenizer(make_json_tokenizer(json_of_words(ids, "", {}), folder.string(), special));
}

}  // namespace qkv
