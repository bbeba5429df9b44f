// Tokenizers in folders of Hugging Face, and the special tokens that their settings name.
#include "qkv/base/file.h"
#include "qkv/model/family/hf_config.h"
#include "qkv/text/published/formats.h"
#include "qkv/text/tokenizer/json_fields.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using Json = TokenizerJson;

// config.json and what may stand beside it; settings of the first file that has them.
class Settings {
 public:
  Settings(const fs::path& folder, int64_t rows) : rows_(rows) {
    for (const char* name : {"generation_config.json", "config.json"})
      if (file_exists(folder / name)) files_.push_back(parse(folder / name));
    if (file_exists(folder / "tokenizer_config.json")) tokenizer_ = parse(folder / "tokenizer_config.json");
  }

  // A token id, or several.
  std::vector<int32_t> ids(const char* key) const {
    for (const auto& [name, json] : files_) {
      if (!json.contains(key) || json[key].is_null()) continue;
      const Json& value = json[key];
      std::vector<int32_t> out;
      for (const Json& id : value.is_array() ? value : Json::array({value})) {
        require<InputError>(id.is_number_integer() && id.get<int64_t>() >= -1 && id.get<int64_t>() < 1 << 24, name,
                            "'{}' must be a token id, or a list of them, got {}", key, shown_json(value));
        if (id.get<int64_t>() >= 0) out.push_back(id.get<int32_t>());
      }
      return out;
    }
    return {};
  }
  int32_t id(const char* key, int32_t absent = -1) const {
    const std::vector<int32_t> all = ids(key);
    return all.empty() ? absent : all.front();
  }
  // Words that are one token, of [[286]].
  std::vector<int32_t> forbidden() const {
    std::vector<int32_t> out = ids("suppress_tokens");
    for (const auto& [name, json] : files_) {
      if (!json.contains("bad_words_ids") || !json["bad_words_ids"].is_array()) continue;
      for (const Json& word : json["bad_words_ids"])
        if (word.is_array() && word.size() == 1 && word[0].is_number_unsigned() &&
            word[0].get<uint64_t>() < 1u << 24)
          out.push_back(word[0].get<int32_t>());
      break;
    }
    return out;
  }
  // "<mask>", or {"content": "<mask>"}.
  std::string token(const char* key) const {
    if (!tokenizer_.second.contains(key)) return "";
    const Json& value = tokenizer_.second[key];
    if (value.is_string()) return value.get<std::string>();
    return value.is_object() && value.contains("content") && value["content"].is_string()
               ? value["content"].get<std::string>()
               : "";
  }
  // Of a list of such tokens.
  std::vector<std::string> tokens(const char* key) const {
    std::vector<std::string> out;
    const Json& json = tokenizer_.second;
    if (json.contains(key) && json[key].is_array())
      for (const Json& value : json[key]) {
        const Json& text = value.is_object() && value.contains("content") ? value["content"] : value;
        if (text.is_string()) out.push_back(text.get<std::string>());
      }
    return out;
  }
  bool flag(const char* key, bool absent) const {
    const Json& json = tokenizer_.second;
    return json.contains(key) && json[key].is_boolean() ? json[key].get<bool>() : absent;
  }

  int64_t rows() const { return rows_; }

 private:
  using File = std::pair<std::string, Json>;
  static File parse(const fs::path& path) {
    constexpr JsonLimits limits = {.bytes = 20'000'000, .depth = 32, .name_bytes = 20'000};
    const std::string text = without_bare_infinities(read_file(path, limits.bytes));
    return {path.string(), parse_json_object<Json>(text, path.string(), limits)};
  }

  std::vector<File> files_;
  File tokenizer_;
  int64_t rows_;
};

SpecialTokens read_special(const Settings& settings) {
  SpecialTokens s;
  s.rows = settings.rows();
  s.pad = settings.id("pad_token_id");
  s.ends = settings.ids("eos_token_id");
  s.eos = s.ends.empty() ? -1 : s.ends.front();
  s.bos = settings.id("decoder_start_token_id", settings.id("bos_token_id", s.eos));
  s.unk = -1;
  s.suppressed = settings.forbidden();
  if (const int32_t forced = settings.id("forced_bos_token_id"); forced >= 0) s.forced_first = forced;
  return s;
}

Tokenizer json_tokenizer(std::string json, const fs::path& file, const Settings& settings) {
  return Tokenizer(make_json_tokenizer(
      std::move(json), file.string(), read_special(settings),
      {.mask = settings.token("mask_token"), .unk = settings.token("unk_token"), .takes_frame = true}));
}

Tokenizer marian_pieces(const fs::path& folder, TokenizerSide side, const Settings& settings) {
  const bool is_source = side == TokenizerSide::source;
  const fs::path own = folder / "target_vocab.json";
  PieceIds ids = read_ids(!is_source && file_exists(own) ? own : folder / "vocab.json");
  SpecialTokens special = read_special(settings);
  const auto unknown = ids.find("<unk>");
  require<InputError>(unknown != ids.end(), (folder / "vocab.json").string(), "there is no <unk>");
  special.unk = unknown->second;
  special.frame = TextFrame{.after = {special.eos}};
  const fs::path file = folder / (is_source ? "source.spm" : "target.spm");
  return Tokenizer(make_piece_tokenizer(read_file(file, largest_vocabulary_file), file.string(), ids, special));
}

Tokenizer piece_tokenizer(const fs::path& file, const Settings& settings, const HfConfig& config) {
  SpecialTokens special = read_special(settings);
  const std::string type = config.model_type();
  const bool ends = type == "t5" || type == "mt5";
  if (ends)
    special.frame = TextFrame{.after = {special.eos}};
  else
    special.frame = TextFrame{.before = {settings.id("bos_token_id", 1)}};
  special.unk = ends ? 2 : type.starts_with("gemma") ? 3 : 0;
  return Tokenizer(
      make_piece_tokenizer(read_file(file, largest_vocabulary_file), file.string(), std::nullopt, special));
}

Tokenizer fairseq_pieces(const fs::path& folder, const Settings& settings, const HfConfig& config) {
  const std::string type = config.model_type();
  const bool is_translator = type == "m2m_100";
  if (!is_translator && type != "xlm-roberta")
    config.refuse("model_type",
                  "its sentencepiece.bpe.model is read for m2m_100 and xlm-roberta; a tokenizer.json, for all");
  FairseqSettings of_folder;
  of_folder.has_languages = is_translator && file_exists(folder / "vocab.json");
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    for (const std::string& token : settings.tokens(key)) of_folder.added.push_back(token);
  if (const std::string mask = settings.token("mask_token"); !mask.empty()) of_folder.added.push_back(mask);
  if (is_translator) of_folder.source_language = settings.token("src_lang");
  if (is_translator && of_folder.source_language.empty())
    of_folder.source_language = of_folder.has_languages ? "en" : "eng_Latn";
  return fairseq_tokenizer(folder, read_special(settings), of_folder);
}

}  // namespace

Tokenizer huggingface_tokenizer(const fs::path& folder, TokenizerSide side, int64_t rows) {
  const Settings settings(folder, rows);
  const auto has = [&](const char* name) { return file_exists(folder / name); };
  if (has("tokenizer.json")) {
    const fs::path file = folder / "tokenizer.json";
    return json_tokenizer(read_file(file, largest_vocabulary_file), file, settings);
  }
  if (has("source.spm") && has("target.spm") && has("vocab.json")) return marian_pieces(folder, side, settings);
  const fs::path config = folder / "config.json";
  const auto read_config = [&] { return HfConfig(read_file(config, JsonLimits{}.bytes), config.string()); };
  if (has("sentencepiece.bpe.model")) return fairseq_pieces(folder, settings, read_config());
  if (has("vocab.json") && has("merges.txt"))
    return json_tokenizer(json_of_byte_level_bpe(folder), folder / "vocab.json", settings);
  if (has("vocab.txt"))
    return json_tokenizer(json_of_word_piece(folder, settings.flag("do_lower_case", true)), folder / "vocab.txt",
                          settings);
  for (const char* name : {"tokenizer.model", "spiece.model"})
    if (has(name)) return piece_tokenizer(folder / name, settings, read_config());
  fail<InputError>(
      folder.string(),
      "there is no tokenizer: no tokenizer.json, vocab.json with merges.txt, vocab.txt or SentencePiece "
      "model");
}

}  // namespace qkv
