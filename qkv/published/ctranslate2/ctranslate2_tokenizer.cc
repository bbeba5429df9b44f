// Folders of CTranslate2: vocabularies with a token per line, with a SentencePiece model, or for texts that are already
// tokens.
#include <algorithm>

#include "qkv/base/file.h"
#include "qkv/base/json_fields.h"
#include "qkv/published/ctranslate2/ctranslate2.h"
#include "qkv/published/word_vocabulary.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> read_token_list(const fs::path& folder, TokenizerSide side) {
  const std::string own = side == TokenizerSide::source ? "source_vocabulary" : "target_vocabulary";
  for (const std::string& stem : {own, std::string("shared_vocabulary")})
    for (const char* ending : {".json", ".txt"}) {
      const fs::path file = folder / (stem + ending);
      if (!file_exists(file)) continue;
      const std::string text = read_file(file, largest_vocabulary_file);
      require<InputError>(!utf8_error(text), file.string(), "this is not UTF-8");
      std::vector<std::string> tokens;
      if (std::string_view(ending) == ".json") {
        const auto json =
            parse_json_object("{\"tokens\":" + text + "}", file.string(), {.bytes = largest_vocabulary_file});
        require<InputError>(json["tokens"].is_array(), file.string(), "it must be a list of tokens");
        for (const Json& token : json["tokens"]) {
          require<InputError>(token.is_string(), file.string(), "a token must be a string, got {}",
                              shown_json(token));
          tokens.push_back(token.get<std::string>());
        }
        return tokens;
      }
      for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        tokens.push_back(text.substr(at, end - at));
        at = end + 1;
      }
      if (std::all_of(tokens.begin(), tokens.end(), [](const std::string& t) { return t.ends_with('\r'); }))
        for (std::string& token : tokens) token.pop_back();
      return tokens;
    }
  fail<InputError>(folder.string(), "there is no {} and no shared_vocabulary, .json or .txt", own);
}

}  // namespace

Tokenizer ctranslate2_tokenizer(const fs::path& folder, const CTranslate2Texts& texts, TokenizerSide side,
                                int64_t rows) {
  const bool is_source = side == TokenizerSide::source;
  const fs::path settings_file = folder / "config.json";
  Json settings = Json::object();
  if (file_exists(settings_file))
    settings = parse_json_object(read_file(settings_file, JsonLimits{}.bytes), settings_file.string());
  const auto name = [&](const char* key, const char* absent) {
    return settings.contains(key) && settings[key].is_string() ? settings[key].get<std::string>() : absent;
  };
  const auto flag = [&](const char* key, bool absent) {
    return settings.contains(key) && settings[key].is_boolean() ? settings[key].get<bool>() : absent;
  };
  std::vector<std::string> tokens = read_token_list(folder, side);
  const std::string unknown = name("unk_token", "<unk>");
  if (std::find(tokens.begin(), tokens.end(), unknown) == tokens.end()) tokens.push_back(unknown);
  PieceIds ids;
  for (size_t i = 0; i < tokens.size(); ++i) ids[tokens[i]] = static_cast<int32_t>(i);
  const auto id = [&](const std::string& token) {
    const auto found = ids.find(token);
    return found == ids.end() ? -1 : found->second;
  };

  SpecialTokens special;
  special.rows = rows;
  special.unk = id(unknown);
  special.eos = id(name("eos_token", "</s>"));
  require<InputError>(special.eos >= 0, folder.string(), "the vocabulary has no token that ends a text, {}",
                      quoted_name(name("eos_token", "</s>")));
  // Its row is after those of the target; the source may lack one.
  const int32_t zero = texts.zero_start;
  special.bos = zero < 0 ? id(name("decoder_start_token", "<s>")) : is_source ? -1 : zero;
  special.pad = -1;
  special.ends = {special.eos};
  special.suppressed = {};
  if (zero >= 0 && !is_source) special.suppressed.push_back(zero);
  TextFrame frame;
  if (flag("add_source_bos", texts.source_bos)) frame.before = {id(name("bos_token", "<s>"))};
  // Only Marian models begin with zeros, and their sources end with eos in every conversion.
  if (flag("add_source_eos", texts.source_eos) || zero >= 0) frame.after = {special.eos};
  special.frame = frame;
  for (const char* pieces : {is_source ? "source.spm" : "target.spm", "sentencepiece.model"}) {
    const fs::path file = folder / pieces;
    if (!file_exists(file)) continue;
    return Tokenizer(make_piece_tokenizer(read_file(file, largest_vocabulary_file), file.string(), ids, special));
  }
  std::vector<std::string> names;
  for (const int32_t token : {special.eos, special.bos})
    if (token >= 0 && token < std::ssize(tokens)) names.push_back(tokens[static_cast<size_t>(token)]);
  return Tokenizer(make_json_tokenizer(json_of_words(ids, unknown, names), folder.string(), special));
}

}  // namespace qkv
