#include "qkv/published/huggingface/folder_settings.h"

#include <algorithm>
#include <charconv>

#include "qkv/base/file.h"
#include "qkv/published/huggingface/hf_config.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr int64_t id_limit = 1 << 24;

// The tokenizer class for folders whose settings name none, as in transformers.
constexpr std::pair<std::string_view, const char*> class_of_family[] = {
    {"gpt2", "GPT2Tokenizer"},   {"opt", "GPT2Tokenizer"},        {"roberta", "RobertaTokenizer"},
    {"bart", "BartTokenizer"},   {"qwen2", "Qwen2Tokenizer"},     {"longformer", "RobertaTokenizer"},
    {"qwen3", "Qwen2Tokenizer"}, {"pegasus", "PegasusTokenizer"}, {"big_bird", "BigBirdTokenizer"},
    {"mpnet", "MPNetTokenizer"}, {"t5", "T5Tokenizer"},           {"mt5", "T5Tokenizer"}};

constexpr const char* special_keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};

std::string content_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_object() && value.contains("content") && value["content"].is_string()
             ? value["content"].get<std::string>()
             : "";
}

int32_t id_of_name(const std::string& name, const std::string& where) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  require<InputError>(error == std::errc() && end == name.data() + name.size() && id >= 0 && id < id_limit, where,
                      "'added_tokens_decoder': {} is not an id from 0 to {}", quoted_name(name), id_limit - 1);
  return static_cast<int32_t>(id);
}

}  // namespace

FolderSettings::FolderSettings(const fs::path& folder, int64_t rows) : rows_(rows) {
  const auto read = [&](const char* name) {
    constexpr JsonLimits limits = {.bytes = 20'000'000, .depth = 32, .name_bytes = 20'000};
    const fs::path path = folder / name;
    if (!file_exists(path)) return File{path.string(), Json::object()};
    const std::string text = without_bare_infinities(read_file(path, limits.bytes));
    return File{path.string(), parse_json_object(text, path.string(), limits)};
  };
  files_ = {read("generation_config.json"), read("config.json")};
  tokenizer_ = read("tokenizer_config.json");
  map_ = read("special_tokens_map.json");
  added_ = read("added_tokens.json");
}

std::vector<int32_t> FolderSettings::ids(const char* key) const {
  for (const auto& [name, json] : files_) {
    if (!json.contains(key) || json[key].is_null()) continue;
    const Json& value = json[key];
    std::vector<int32_t> out;
    for (const Json& id : value.is_array() ? value : Json::array({value})) {
      require<InputError>(id.is_number_integer() && id.get<double>() >= -1 && id.get<double>() < id_limit, name,
                          "'{}' must be a token id, or a list of them, got {}", key, shown_json(value));
      if (id.get<int64_t>() >= 0) out.push_back(id.get<int32_t>());
    }
    return out;
  }
  return {};
}

int32_t FolderSettings::id(const char* key, int32_t absent) const {
  const std::vector<int32_t> all = ids(key);
  return all.empty() ? absent : all.front();
}

std::vector<int32_t> FolderSettings::forbidden() const {
  std::vector<int32_t> out = ids("suppress_tokens");
  for (const auto& [name, json] : files_) {
    if (!json.contains("bad_words_ids") || !json["bad_words_ids"].is_array()) continue;
    for (const Json& word : json["bad_words_ids"])
      if (word.is_array() && word.size() == 1 && word[0].is_number_unsigned() &&
          word[0].get<uint64_t>() < static_cast<uint64_t>(id_limit))
        out.push_back(word[0].get<int32_t>());
    break;
  }
  return out;
}

std::string FolderSettings::token(const char* key, const std::string& absent) const {
  for (const File* file : {&tokenizer_, &map_})
    if (file->second.contains(key))
      if (std::string content = content_of(file->second[key]); !content.empty()) return content;
  return absent;
}

std::vector<std::string> FolderSettings::tokens(const char* key) const {
  std::vector<std::string> out;
  for (const File* file : {&tokenizer_, &map_}) {
    if (!out.empty() || !file->second.contains(key) || !file->second[key].is_array()) continue;
    for (const Json& value : file->second[key])
      if (const std::string content = content_of(value); !content.empty()) out.push_back(content);
  }
  return out;
}

bool FolderSettings::has(const char* key) const {
  return tokenizer_.second.contains(key) && !tokenizer_.second[key].is_null();
}

bool FolderSettings::flag(const char* key, bool absent) const {
  const Json& json = tokenizer_.second;
  return json.contains(key) && json[key].is_boolean() ? json[key].get<bool>() : absent;
}

int64_t FolderSettings::integer(const char* key, int64_t absent) const {
  const JsonFields fields(tokenizer_.second, tokenizer_.first);
  return fields.integer(key, absent);
}

std::string FolderSettings::text(const File& file, const char* key) const {
  const Json& json = file.second;
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

std::string FolderSettings::model_type() const { return text(files_.back(), "model_type"); }

std::string FolderSettings::tokenizer_class() const {
  std::string name = text(tokenizer_, "tokenizer_class");
  if (name.empty()) name = text(files_.back(), "tokenizer_class");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  const bool says_nothing = name.empty() || name == "PreTrainedTokenizer" || name == "TokenizersBackend";
  for (const auto& [family, of_family] : class_of_family)
    if (says_nothing && model_type() == family) return of_family;
  return name;
}

std::vector<std::string> FolderSettings::special_names() const {
  std::vector<std::string> out;
  for (const char* key : special_keys)
    if (const std::string name = token(key); !name.empty()) out.push_back(name);
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    for (const std::string& name : tokens(key)) out.push_back(name);
  return out;
}

std::vector<AddedToken> FolderSettings::added_tokens() const {
  std::vector<AddedToken> out;
  if (tokenizer_.second.contains("added_tokens_decoder")) {
    const JsonFields by_id(tokenizer_.second["added_tokens_decoder"],
                           tokenizer_.first + ": 'added_tokens_decoder'");  // an object
    for (const auto& [name, value] : tokenizer_.second["added_tokens_decoder"].items()) {
      const JsonFields fields(value, by_id.where());
      const bool special = fields.flag("special", false);
      out.push_back({.id = id_of_name(name, tokenizer_.first),
                     .content = fields.text("content"),
                     .single_word = fields.flag("single_word", false),
                     .strips_left = fields.flag("lstrip", false),
                     .strips_right = fields.flag("rstrip", false),
                     .normalized = fields.flag("normalized", !special),
                     .special = special});
    }
  }
  const std::vector<std::string> special = special_names();
  const JsonFields fields(added_.second, added_.first);
  for (const auto& [name, value] : added_.second.items()) {
    const std::string content = name;
    const int64_t id = fields.as_integer(value, content.c_str());
    require<InputError>(id < id_limit, added_.first, "the id of {} must be 0 to {}, got {}", quoted_name(content),
                        id_limit - 1, id);
    if (std::ranges::find(out, content, &AddedToken::content) != out.end()) continue;
    const bool is_special = std::ranges::find(special, content) != special.end();
    out.push_back({.id = static_cast<int32_t>(id),
                   .content = content,
                   .strips_left = content == token("mask_token"),
                   .normalized = !is_special,
                   .special = is_special});
  }
  return out;
}

SpecialTokens FolderSettings::special_tokens() const {
  SpecialTokens s;
  s.rows = rows_;
  s.pad = id("pad_token_id");
  s.ends = ids("eos_token_id");
  s.eos = s.ends.empty() ? -1 : s.ends.front();
  s.bos = id("decoder_start_token_id", id("bos_token_id", s.eos));
  s.unk = -1;
  s.suppressed = forbidden();
  if (const int32_t forced = id("forced_bos_token_id"); forced >= 0) s.forced_first = forced;
  return s;
}

}  // namespace qkv
