#include "qkv/published/gguf/gguf_words.h"

#include <algorithm>
#include <vector>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

// Each expression cuts what the ones before it left: its matches, and what lies between them. Those of the published
// tokenizers, which read \p{..} as Unicode classes.
constexpr const char* gpt2_words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* llama3_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Words of Tekken and GPT-4o end where lower case letters are followed by upper case ones.
constexpr const char* tekken_words =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* gpt4o_words =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// The punctuation is . , ! ? U+2026 U+3002 U+FF0C U+3001 U+0964 U+06D4 U+060C.
constexpr const char* bloom_words =
    " ?[^(\\s|[.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3\x80\x81\xe0\xa5\xa4\xdb\x94\xd8\x8c])]+";
constexpr const char *numbers = R"(\p{N}+)", *single_numbers = R"(\p{N})", *three_digits = "[0-9][0-9][0-9]";
constexpr const char *punctuation = R"([\p{P}\$\+<=>\^~\|]+)", *falcon_punctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr const char* line_ends = R"([\r\n])";
constexpr const char* ideographs = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr const char* cased_letters = R"(\s?[\p{Lu}\p{Ll}\p{Lt}]+)";
constexpr const char* deepseek_punctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr const char* deepseek_v3_words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct WordsRow {
  std::vector<std::string_view> names;
  std::vector<const char*> expressions;
  bool ignore_merges = false, adds_bos = false, nfc = false;
};
const std::vector<WordsRow>& rows() {
  static const std::vector<WordsRow> all = {
      {{"default"}, {punctuation, gpt2_words, numbers, three_digits}},
      {{"gpt-2", "phi-2", "mpt", "jais", "roberta-bpe", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de",
        "jina-v2-code", "gigachat"},
       {gpt2_words}},
      {{"olmo"}, {gpt2_words}, false, false, true},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"}, {llama3_words}, true, true},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {llama3_words}},
      {{"qwen2"}, {qwen2_words}, false, false, true},
      {{"stablelm2", "deepseek-r1-qwen", "hunyuan", "megrez"}, {qwen2_words}},
      {{"tekken"}, {tekken_words}, true, true},
      {{"gpt-4o", "llama4"}, {gpt4o_words}},
      {{"falcon"}, {falcon_punctuation, gpt2_words, three_digits}},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"},
       {single_numbers, gpt2_words}},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {bloom_words}},
      {{"viking"}, {bloom_words, single_numbers}},
      {{"deepseek-llm"}, {line_ends, cased_letters, deepseek_punctuation, R"(\s+$)", ideographs, numbers}},
      {{"deepseek-coder"}, {line_ends, R"(\s?\p{L}+)", R"(\s?\p{P}+)", ideographs, single_numbers}},
      {{"deepseek-v3"},
       {R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)", deepseek_v3_words}},
  };
  return all;
}

// The expressions of a pre_tokenizer that ends with the bytes; none: it is something else. The steps of Falcon, whose
// numbers are cut from the spaces before them, have no tokens that tell them from those of its row.
std::optional<std::vector<std::string>> expressions_of(const Json& pre_tokenizer) {
  const bool is_sequence = pre_tokenizer.value("type") == Json("Sequence");
  const Json parts = is_sequence ? pre_tokenizer.value("pretokenizers") : Json::array({pre_tokenizer});
  std::vector<std::string> out;
  bool has_bytes = false;
  for (const Json& part : parts) {
    const auto is = [&](const char* key, const Json& value) { return part.value(key) == value; };
    if (is("type", "ByteLevel")) {
      if (is("add_prefix_space", true)) return {};
      if (!is("use_regex", false)) out.emplace_back(gpt2_words);
      has_bytes = true;
    } else if (is("type", "Split") && part.value("pattern").value("Regex").is_string()) {
      const bool isolates = is("behavior", "Isolated") && !is("invert", true);
      if (!isolates && !(is("behavior", "Removed") && is("invert", true))) return {};
      out.push_back(part["pattern"]["Regex"].text());
    } else if (is("type", "Digits")) {
      out.emplace_back(is("individual_digits", true) ? single_numbers : numbers);
    } else if (is("type", "Punctuation") && is("behavior", "Contiguous")) {
      out.emplace_back(falcon_punctuation);
    } else {
      return {};
    }
  }
  if (!has_bytes) return {};
  if (out == std::vector<std::string>{falcon_punctuation, gpt2_words, numbers, three_digits})
    out.erase(out.begin() + 2);
  return out;
}

}  // namespace

std::optional<std::string> gguf_words_name(const Json& normalizer, const Json& pre_tokenizer, bool ignore_merges) {
  const bool nfc = normalizer.value("type") == Json("NFC");
  const auto expressions = expressions_of(pre_tokenizer);
  if (!expressions || !(nfc || normalizer.is_null())) return {};
  for (const WordsRow& row : rows())
    if (std::ranges::equal(row.expressions, *expressions) && row.nfc == nfc && row.ignore_merges == ignore_merges)
      return std::string(row.names.front());
  return {};
}

GgufWords gguf_words(std::string_view name, const std::string& file) {
  std::vector<std::string_view> known;
  for (const WordsRow& row : rows()) {
    known.insert(known.end(), row.names.begin(), row.names.end());
    if (std::ranges::find(row.names, name) == row.names.end()) continue;
    Json parts = Json::array();
    for (const char* expression : row.expressions)
      parts.push_back({{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}});
    parts.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
    return {.normalizer = row.nfc ? Json{{"type", "NFC"}} : Json(),
            .pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", parts}},
            .ignore_merges = row.ignore_merges,
            .adds_bos = row.adds_bos};
  }
  fail<InputError>(file, "'tokenizer.ggml.pre' {} is not supported, only {}", quoted_name(name), name_list(known));
}

}  // namespace qkv
