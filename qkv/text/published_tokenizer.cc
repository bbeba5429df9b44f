#include "qkv/text/published_tokenizer.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>
#include <sentencepiece_processor.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/model/family/ctranslate2.h"
#include "qkv/model/family/ctranslate2_file.h"
#include "qkv/model/family/hf_config.h"
#include "qkv/text/sentencepiece_check.h"
#include "qkv/text/tokenizer/tokenizer_json.h"
#include "qkv/text/tokenizer_model.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t largest_vocabulary = 200'000'000;  // bytes

bool is_byte_token(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token.back() == '>';
}

// ---- tokenizer.json ----

class JsonModel final : public TokenizerModel {
 public:
  JsonModel(JsonTokenizer tokenizer, SpecialTokens special, std::string bytes)
      : tokenizer_(std::move(tokenizer)), special_(std::move(special)), bytes_(std::move(bytes)) {}

  std::vector<int32_t> encode(std::string_view text) const override {
    return tokenizer_.encode(text, {.add_special = false}).ids;
  }
  std::string decode(std::span<const int32_t> ids) const override { return tokenizer_.decode(ids); }
  const std::string& token(int32_t id) const override { return tokenizer_.token(id); }
  bool is_text(int32_t id) const override {
    const std::string& token = tokenizer_.token(id);
    return !token.empty() && !tokenizer_.is_special(id) && !is_byte_token(token);
  }
  float score(int32_t) const override { return 0; }
  int64_t size() const override { return tokenizer_.size(); }
  std::optional<int32_t> id_of(std::string_view token) const override { return tokenizer_.id_of(token); }
  const std::string& serialized() const override { return bytes_; }
  const SpecialTokens& special() const override { return special_; }

  std::optional<std::vector<int32_t>> encode_masked(std::string_view text, std::string_view marker) const override {
    if (special_.mask < 0) return {};
    std::string marked;
    for (size_t at; (at = text.find(marker)) != std::string_view::npos; text.remove_prefix(at + marker.size()))
      marked.append(text.substr(0, at)) += tokenizer_.token(special_.mask);
    marked += text;
    return tokenizer_.encode(marked, {.add_special = false, .special_token_in_text = special_.mask}).ids;
  }

 private:
  JsonTokenizer tokenizer_;
  SpecialTokens special_;
  std::string bytes_;
};

// Pieces that a model does not have, those of the other side, keep their marks when it joins them.
std::string with_spaces(std::string_view text) {
  constexpr std::string_view mark = "\u2581";
  std::string out;
  for (size_t at; (at = text.find(mark)) != std::string_view::npos; text.remove_prefix(at + mark.size())) {
    out += text.substr(0, at);
    out += ' ';
  }
  return out.append(text);
}

// ---- SentencePiece, whose pieces may have ids of their own ----

class PieceModel final : public TokenizerModel {
 public:
  // ids: by piece; none: those of SentencePiece.
  PieceModel(const fs::path& file, std::optional<std::map<std::string, int32_t>> ids, SpecialTokens special)
      : special_(std::move(special)), bytes_(read_file(file, largest_vocabulary)) {
    if (const auto wrong = sentencepiece_error(bytes_))
      fail<InputError>(file.string(), "not a SentencePiece model: {}", *wrong);
    const auto status = processor_.LoadFromSerializedProto(bytes_);
    if (!status.ok()) fail<InputError>(file.string(), "not a SentencePiece model: {}", one_line(status.message()));
    if (ids) {
      ids_ = std::move(*ids);
    } else {
      for (int id = 0; id < processor_.GetPieceSize(); ++id) ids_[processor_.IdToPiece(id)] = id;
    }
    for (const auto& [piece, id] : ids_) {
      if (id >= std::ssize(tokens_)) tokens_.resize(static_cast<size_t>(id) + 1);
      tokens_[static_cast<size_t>(id)] = piece;
    }
  }

  // A language mark of Marian, ">>de<<" in front of the text, is one token.
  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> out;
    if (const size_t end = text.starts_with(">>") ? text.find("<<") : std::string_view::npos;
        end != std::string_view::npos) {
      const auto mark = ids_.find(std::string(text.substr(0, end + 2)));
      if (mark != ids_.end()) {
        out.push_back(mark->second);
        text.remove_prefix(end + 2);
      }
    }
    std::vector<std::string> pieces;
    const auto status = processor_.Encode(text, &pieces);
    if (!status.ok()) fail<InputError>("Tokenizer::encode", "{}", status.message());
    for (const std::string& piece : pieces) {
      const auto found = ids_.find(piece);
      out.push_back(found == ids_.end() ? special_.unk : found->second);
    }
    return out;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::vector<std::string> pieces;
    for (const int32_t id : ids)
      if (is_text(id) || is_byte_token(token(id))) pieces.push_back(token(id));
    std::string text;
    const auto status = processor_.Decode(pieces, &text);
    if (!status.ok()) fail("Tokenizer::decode", "{}", status.message());
    text = with_spaces(text);
    const size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  }
  const std::string& token(int32_t id) const override { return tokens_[static_cast<size_t>(id)]; }
  bool is_text(int32_t id) const override {
    const std::string& piece = token(id);
    const bool special =
        id == special_.pad || id == special_.eos || id == special_.unk || piece == "<s>" || piece == "</s>";
    return !piece.empty() && !special && !is_byte_token(piece);
  }
  float score(int32_t) const override { return 0; }
  int64_t size() const override { return std::ssize(tokens_); }
  std::optional<int32_t> id_of(std::string_view token) const override {
    const auto found = ids_.find(std::string(token));
    if (found == ids_.end()) return {};
    return found->second;
  }
  const std::string& serialized() const override { return bytes_; }
  const SpecialTokens& special() const override { return special_; }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  SpecialTokens special_;
  std::string bytes_;
  std::map<std::string, int32_t> ids_;
  std::vector<std::string> tokens_;
};

std::map<std::string, int32_t> read_ids(const fs::path& file) {
  const auto json = parse_json_object<Json>(read_file(file, largest_vocabulary), file.string(),
                                            {.bytes = largest_vocabulary, .depth = 2, .name_bytes = 20'000});
  std::map<std::string, int32_t> ids;
  for (const auto& [token, id] : json.items()) {
    require<InputError>(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < 1 << 24,
                        file.string(), "the id of {} must be an integer from 0 to {}, got {}", quoted_name(token),
                        (1 << 24) - 1, shown_json(id));
    ids[token] = id.get<int32_t>();
  }
  return ids;
}

// ---- Files of before tokenizer.json, as such a file ----

Json added_token(const std::string& content, int32_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", content == "<mask>"},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// The lines of merges.txt, without the first one if that is a comment.
Json read_merges(const fs::path& file) {
  Json merges = Json::array();
  const std::string text = read_file(file, largest_vocabulary);
  require<InputError>(!utf8_error(text), file.string(), "this is not UTF-8");
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (!line.empty() && !(at == 0 && line.starts_with("#version"))) merges.push_back(line);
    at = end + 1;
  }
  return merges;
}

std::string json_of_byte_level_bpe(const fs::path& folder) {
  const std::map<std::string, int32_t> ids = read_ids(folder / "vocab.json");
  Json json = {{"normalizer", nullptr},
               {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
               {"decoder", {{"type", "ByteLevel"}}},
               {"post_processor", nullptr},
               {"added_tokens", Json::array()},
               {"model", {{"type", "BPE"}, {"vocab", ids}, {"merges", read_merges(folder / "merges.txt")}}}};
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"})
    if (ids.contains(special)) json["added_tokens"].push_back(added_token(special, ids.at(special)));
  if (ids.contains("<s>") && ids.contains("</s>"))
    json["post_processor"] = {
        {"type", "RobertaProcessing"}, {"cls", {"<s>", ids.at("<s>")}}, {"sep", {"</s>", ids.at("</s>")}}};
  return json.dump();
}

std::string json_of_word_piece(const fs::path& folder, bool lowercase) {
  const fs::path file = folder / "vocab.txt";
  const std::string text = read_file(file, largest_vocabulary);
  require<InputError>(!utf8_error(text), file.string(), "this is not UTF-8");
  Json ids = Json::object(), added = Json::array();
  int32_t id = 0;
  for (size_t at = 0; at < text.size(); ++id) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string token = text.substr(at, end - at);
    if (token.ends_with('\r')) token.pop_back();
    if (token.size() > 2 && token.front() == '[' && token.back() == ']' && !token.starts_with("[unused"))
      added.push_back(added_token(token, id));
    ids[token] = id;
    at = end + 1;
  }
  require<InputError>(ids.contains("[CLS]") && ids.contains("[SEP]"), file.string(),
                      "there is no [CLS] and [SEP] in it");
  const Json json = {
      {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", lowercase}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"post_processor",
       {{"type", "BertProcessing"}, {"cls", {"[CLS]", ids["[CLS]"]}}, {"sep", {"[SEP]", ids["[SEP]"]}}}},
      {"added_tokens", added},
      {"model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", ids}}}};
  return json.dump();
}

// ---- Special tokens ----

// config.json and what may stand beside it; settings of the first file that has them.
class Settings {
 public:
  explicit Settings(const fs::path& folder) {
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
  bool flag(const char* key, bool absent) const {
    const Json& json = tokenizer_.second;
    return json.contains(key) && json[key].is_boolean() ? json[key].get<bool>() : absent;
  }

 private:
  using File = std::pair<std::string, Json>;
  static File parse(const fs::path& path) {
    constexpr JsonLimits limits = {.bytes = 20'000'000, .depth = 32, .name_bytes = 20'000};
    return {path.string(), parse_json_object<Json>(read_file(path, limits.bytes), path.string(), limits)};
  }

  std::vector<File> files_;
  File tokenizer_;
};

SpecialTokens read_special(const Settings& settings) {
  SpecialTokens s;
  s.pad = settings.id("pad_token_id");
  s.ends = settings.ids("eos_token_id");
  s.eos = s.ends.empty() ? -1 : s.ends.front();
  s.bos = settings.id("decoder_start_token_id", settings.id("bos_token_id", s.eos));
  s.unk = -1;
  s.suppressed = settings.forbidden();
  if (const int32_t forced = settings.id("forced_bos_token_id"); forced >= 0) s.forced_first = forced;
  return s;
}

Tokenizer json_tokenizer(const std::string& json, const std::string& name, const Settings& settings) {
  const JsonTokenizer tokenizer = JsonTokenizer::parse(json, name);
  SpecialTokens special = read_special(settings);
  special.frame = TextFrame{tokenizer.before(), tokenizer.after()};
  for (const std::string& mask : {settings.token("mask_token"), std::string("[MASK]"), std::string("<mask>")})
    if (special.mask < 0 && !mask.empty()) special.mask = tokenizer.id_of(mask).value_or(-1);
  for (const std::string& unknown : {settings.token("unk_token"), std::string("[UNK]"), std::string("<unk>")})
    if (special.unk < 0 && !unknown.empty()) special.unk = tokenizer.id_of(unknown).value_or(-1);
  return Tokenizer(std::make_shared<JsonModel>(tokenizer, std::move(special), json));
}

Tokenizer marian_tokenizer(const fs::path& folder, TokenizerSide side, const Settings& settings) {
  const bool is_source = side == TokenizerSide::source;
  const fs::path own = folder / "target_vocab.json";
  const auto ids = read_ids(!is_source && file_exists(own) ? own : folder / "vocab.json");
  SpecialTokens special = read_special(settings);
  const auto id = [&](const char* token) { return ids.contains(token) ? ids.at(token) : -1; };
  special.unk = id("<unk>");
  require<InputError>(special.unk >= 0, (folder / "vocab.json").string(), "there is no <unk>");
  special.frame = TextFrame{.after = {special.eos}};
  return Tokenizer(std::make_shared<PieceModel>(folder / (is_source ? "source.spm" : "target.spm"), ids, special));
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
  return Tokenizer(std::make_shared<PieceModel>(file, std::nullopt, special));
}

// ---- CTranslate2: vocabularies by line, with a SentencePiece model beside them or texts that are tokens already ----

std::vector<std::string> read_token_list(const fs::path& folder, TokenizerSide side) {
  const std::string own = side == TokenizerSide::source ? "source_vocabulary" : "target_vocabulary";
  for (const std::string& stem : {own, std::string("shared_vocabulary")})
    for (const char* ending : {".json", ".txt"}) {
      const fs::path file = folder / (stem + ending);
      if (!file_exists(file)) continue;
      const std::string text = read_file(file, largest_vocabulary);
      require<InputError>(!utf8_error(text), file.string(), "this is not UTF-8");
      std::vector<std::string> tokens;
      if (std::string_view(ending) == ".json") {
        const auto json =
            parse_json_object<Json>("{\"tokens\":" + text + "}", file.string(), {.bytes = largest_vocabulary});
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

Tokenizer ctranslate2_tokenizer(const fs::path& folder, TokenizerSide side) {
  const bool is_source = side == TokenizerSide::source;
  const CTranslate2File model = CTranslate2File::load(folder / "model.bin");
  const fs::path settings_file = folder / "config.json";
  Json settings = Json::object();
  if (file_exists(settings_file))
    settings = parse_json_object<Json>(read_file(settings_file, JsonLimits{}.bytes), settings_file.string());
  const auto name = [&](const char* key, const char* absent) {
    return settings.contains(key) && settings[key].is_string() ? settings[key].get<std::string>() : absent;
  };
  const auto flag = [&](const char* key, const char* old) {
    return settings.contains(key) && settings[key].is_boolean() ? settings[key].get<bool>()
                                                                : model.setting(old, 0) != 0;
  };
  std::vector<std::string> tokens = read_token_list(folder, side);
  const std::string unknown = name("unk_token", "<unk>");
  if (std::find(tokens.begin(), tokens.end(), unknown) == tokens.end()) tokens.push_back(unknown);
  std::map<std::string, int32_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i) ids[tokens[i]] = static_cast<int32_t>(i);
  const auto id = [&](const std::string& token) {
    const auto found = ids.find(token);
    return found == ids.end() ? -1 : found->second;
  };

  SpecialTokens special;
  special.unk = id(unknown);
  special.eos = id(name("eos_token", "</s>"));
  require<InputError>(special.eos >= 0, folder.string(), "the vocabulary has no token that ends a text, {}",
                      quoted_name(name("eos_token", "</s>")));
  const int32_t zero = zero_start_of(model);
  special.bos = zero >= 0 ? zero : id(name("decoder_start_token", "<s>"));
  special.pad = -1;
  special.ends = {special.eos};
  special.suppressed = {};
  if (zero >= 0) special.suppressed.push_back(zero);
  TextFrame frame;
  if (flag("add_source_bos", "with_source_bos")) frame.before = {id(name("bos_token", "<s>"))};
  // Sources of Marian's models, the only ones that begin with zeros, end with it in every conversion.
  if (flag("add_source_eos", "with_source_eos") || zero >= 0) frame.after = {special.eos};
  special.frame = frame;
  for (const char* file : {is_source ? "source.spm" : "target.spm", "sentencepiece.model"})
    if (file_exists(folder / file)) return Tokenizer(std::make_shared<PieceModel>(folder / file, ids, special));

  // Tokens between spaces.
  Json added = Json::array();
  for (const int32_t token : {special.eos, special.bos})
    if (token >= 0 && token < std::ssize(tokens))
      added.push_back(added_token(tokens[static_cast<size_t>(token)], token));
  const Json json = {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                     {"added_tokens", added},
                     {"model", {{"type", "WordLevel"}, {"unk_token", unknown}, {"vocab", ids}}}};
  return Tokenizer(
      std::make_shared<JsonModel>(JsonTokenizer::parse(json.dump(), folder.string()), special, json.dump()));
}

}  // namespace

Tokenizer read_published_tokenizer(const fs::path& folder, TokenizerSide side) {
  if (is_ctranslate2_folder(folder)) return ctranslate2_tokenizer(folder, side);
  const Settings settings(folder);
  const auto has = [&](const char* name) { return file_exists(folder / name); };
  if (has("tokenizer.json")) {
    const fs::path file = folder / "tokenizer.json";
    return json_tokenizer(read_file(file, largest_vocabulary), file.string(), settings);
  }
  if (has("source.spm") && has("target.spm") && has("vocab.json")) return marian_tokenizer(folder, side, settings);
  if (has("vocab.json") && has("merges.txt"))
    return json_tokenizer(json_of_byte_level_bpe(folder), (folder / "vocab.json").string(), settings);
  if (has("vocab.txt"))
    return json_tokenizer(json_of_word_piece(folder, settings.flag("do_lower_case", true)),
                          (folder / "vocab.txt").string(), settings);
  const fs::path config = folder / "config.json";
  for (const char* name : {"tokenizer.model", "spiece.model"})
    if (has(name))
      return piece_tokenizer(folder / name, settings,
                             HfConfig(read_file(config, JsonLimits{}.bytes), config.string()));
  fail<InputError>(
      folder.string(),
      "there is no tokenizer: no tokenizer.json, vocab.json with merges.txt, vocab.txt or SentencePiece "
      "model");
}

}  // namespace qkv
