#include "qkv/published/chat_template_files.h"

#include "qkv/base/file.h"
#include "qkv/model/model_file.h"
#include "qkv/published/huggingface/hf_config.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr const char* tokenizer_config = "tokenizer_config.json";
constexpr const char* token_keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};

// An empty object if there is no such file.
Json read_object(const fs::path& file) {
  constexpr JsonLimits limits = {.bytes = 20'000'000, .depth = 32, .name_bytes = 20'000};
  if (!file_exists(file)) return Json::object();
  return parse_json_object(without_bare_infinities(read_file(file, limits.bytes)), file.string(), limits);
}

// "" if there is none.
std::string template_of(const Json& settings) {
  const Json& value = settings.value("chat_template");
  if (value.is_string()) return value.text();
  if (!value.is_array()) return "";
  for (const Json& named : value)
    if (named.is_object() && named.value("name") == Json("default") && named.value("template").is_string())
      return named["template"].text();
  return "";
}

// "<s>", or {"content": "<s>"}.
std::string token_of(const Json& value) {
  const Json& content = value.is_object() ? value.value("content") : value;
  return content.is_string() ? content.text() : "";
}

}  // namespace

ChatTemplateSource read_chat_template(const fs::path& folder) {
  const fs::path program = find_in_model(folder, "chat_template.jinja"),
                 settings_file = find_in_model(folder, tokenizer_config),
                 older = find_in_model(folder, "chat_template.json");
  const Json settings = read_object(settings_file),
             map = read_object(find_in_model(folder, "special_tokens_map.json"));
  ChatTemplateSource out;
  for (const char* key : token_keys) {
    std::string token = token_of(settings.value(key));
    if (token.empty()) token = token_of(map.value(key));
    if (!token.empty()) out.special_tokens.emplace_back(key, token);
  }
  if (file_exists(program)) {
    out.text = read_file(program, ChatTemplateLimits{}.template_bytes);
    out.file = program.string();
  } else if (out.text = template_of(settings); !out.text.empty()) {
    out.file = settings_file.string();
  } else {
    out.text = template_of(read_object(older));
    out.file = older.string();
  }
  if (out.text.empty())
    out.file = "no chat_template.jinja, no 'chat_template' in tokenizer_config.json or chat_template.json";
  return out;
}

void write_chat_template(const fs::path& folder, const ChatTemplateSource& source) {
  if (source.text.empty()) return;
  Json settings = {{"chat_template", source.text}};
  for (const auto& [name, token] : source.special_tokens) settings[name] = token;
  write_file(folder / tokenizer_config, settings.dump(2) + "\n");
}

}  // namespace qkv
