// A vocabulary of numbers: the text "2 0 1" is the tokens 2, 0 and 1.
#include "qkv/model/family/read_family.h"
#include "qkv/text/published/formats.h"

namespace qkv {

Tokenizer number_tokenizer(const std::filesystem::path& folder, TokenizerSide) {
  PieceIds ids;
  const int64_t size = read_family_config(folder).source_vocabulary;
  for (int32_t id = 0; id < size; ++id) ids[fmt::format("{}", id)] = id;
  const SpecialTokens special = {
      .pad = -1, .bos = -1, .eos = -1, .unk = -1, .ends = {}, .suppressed = {}, .frame = TextFrame()};
  return Tokenizer(make_json_tokenizer(json_of_words(ids, "", {}), folder.string(), special));
}

}  // namespace qkv
