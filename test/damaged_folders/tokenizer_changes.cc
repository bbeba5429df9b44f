#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "qkv/base/base64.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "test/damaged_folders/change.h"

namespace qkv::test {
namespace {

using Json = nlohmann::ordered_json;

// Parts of tokenizer.json that are right by themselves, but seldom in their place.
constexpr const char* parts[][2] = {
    {"normalizer",
     R"({"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"},
                      {"type": "Replace", "pattern": {"Regex": "a*"}, "content": "aaaa"}, {"type": "Nmt"}]})"},
    {"normalizer", R"({"type": "Replace", "pattern": {"String": "m"}, "content": ""})"},
    {"normalizer",
     R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true})"},
    {"normalizer", R"({"type": "Prepend", "prepend": "\ufb03\u0301 "})"},
    {"normalizer", R"({"type": "Strip", "strip_left": true, "strip_right": true})"},
    {"normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "ByteLevel"}]})"},
    {"normalizer", "null"},
    {"pre_tokenizer",
     R"({"type": "Split", "pattern": {"Regex": "(?=m)|"}, "behavior": "Isolated", "invert": true})"},
    {"pre_tokenizer",
     R"({"type": "Split", "pattern": {"Regex": "(a*)*b"}, "behavior": "Removed", "invert": false})"},
    {"pre_tokenizer", R"({"type": "Metaspace", "replacement": "a", "prepend_scheme": "always", "split": false})"},
    {"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})"},
    {"pre_tokenizer",
     R"({"type": "Split", "pattern": {"Regex": "(?<a>\\g<a>?m)+"}, "behavior": "MergedWithNext", "invert": false})"},
    {"pre_tokenizer",
     R"({"type": "Split", "pattern": {"String": ""}, "behavior": "MergedWithPrevious", "invert": true})"},
    {"pre_tokenizer", R"({"type": "Sequence", "pretokenizers": []})"},
    {"pre_tokenizer", "null"},
    {"post_processor", "null"},
    {"post_processor", R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})"},
    {"post_processor", R"({"type": "RobertaProcessing", "sep": ["a", 16777215], "cls": ["b", 0]})"},
    {"decoder", R"({"type": "BPEDecoder", "suffix": ""})"},
    {"decoder", R"({"type": "Replace", "pattern": {"Regex": ""}, "content": "x"})"},
    {"decoder", R"({"type": "Strip", "content": "m", "start": 2147483647, "stop": 2147483647})"},
    {"decoder", "null"},
    {"added_tokens", R"([{"id": 3, "content": "the", "special": true, "lstrip": true, "rstrip": true}])"},
    {"added_tokens", "[]"},
};
// Settings of the model in it.
constexpr const char* model_settings[][2] = {
    {"type", R"("WordPiece")"},
    {"type", R"("Unigram")"},
    {"unk_token", R"("the")"},
    {"unk_token", "null"},
    {"unk_id", "0"},
    {"unk_id", "null"},
    {"byte_fallback", "true"},
    {"ignore_merges", "true"},
    {"fuse_unk", "true"},
    {"dropout", "0.5"},
    {"continuing_subword_prefix", R"("")"},
    {"continuing_subword_prefix", R"("a")"},
    {"end_of_word_suffix", R"("a")"},
    {"max_input_chars_per_word", "0"},
    {"max_input_chars_per_word", "9223372036854775807"},
    {"merges", "[]"},
    {"vocab", "{}"},
    {"vocab", R"({"the": 0, " man": 1, "\u2581man": 2, "m": 3, "a": 4, "n": 16777215})"},
};
constexpr const char* part_names[] = {"normalizer", "pre_tokenizer", "post_processor",
                                      "decoder",    "model",         "added_tokens"};
constexpr const char* other_tokenizers[] = {"gpt2", "bert", "t5", "llama", "m2m100", "qwen2"};

Json* find_character_map(Json& node) {
  if (node.is_object() && node.contains("precompiled_charsmap")) return &node["precompiled_charsmap"];
  if (!node.is_structured()) return nullptr;
  for (Json& child : node)
    if (Json* map = find_character_map(child)) return map;
  return nullptr;
}

// "" if it is not the text of one.
std::string change_encoded_map(Json& map, Random& random) {
  if (!map.is_string()) return "";
  std::string bytes;
  try {
    bytes = base64_decoded(map.get<std::string>(), "character map");
  } catch (const InputError&) {
    return "";
  }
  const std::string what = change_character_map(bytes, random);
  map = base64_encoded(bytes);
  return what;
}

Json tokenizer_of(const std::string& checkpoint) {
  return Json::parse(
      read_file(std::filesystem::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / checkpoint / "tokenizer.json"));
}

std::string change_part(Json& json, Random& random) {
  if (random.below(3) == 0 && json.contains("model") && json["model"].is_object()) {
    const auto& [name, text] = one_of(model_settings, random);
    json["model"][name] = Json::parse(text);
    return fmt::format("{} of the model is {}", name, text);
  }
  if (random.below(2) == 0) {
    const auto& [name, text] = one_of(parts, random);
    json[name] = Json::parse(text);
    return fmt::format("{} is {}", name, std::string(text).substr(0, 60));
  }
  const std::string name = one_of(part_names, random), from = one_of(other_tokenizers, random);
  json[name] = tokenizer_of(from)[name];
  return fmt::format("{} is that of {}", name, from);
}

}  // namespace

std::string change_tokenizer(std::string& bytes, Random& random) {
  Json json = Json::parse(bytes, nullptr, false);
  if (!json.is_object()) return "";
  std::string what;
  if (random.below(2) == 0)
    if (Json* map = find_character_map(json)) what = change_encoded_map(*map, random);
  if (what.empty()) what = change_part(json, random);
  bytes = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return what;
}

}  // namespace qkv::test
