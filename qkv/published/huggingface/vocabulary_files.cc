// Vocabularies in formats older than tokenizer.json.
#include <set>

#include "qkv/base/file.h"
#include "qkv/base/json_fields.h"
#include "qkv/published/huggingface/folder_settings.h"
#include "qkv/published/huggingface/tokenizer_files.h"
#include "qkv/published/word_vocabulary.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

Json json_of(const AddedToken& token) {
  return {{"id", token.id},
          {"content", token.content},
          {"single_word", token.single_word},
          {"lstrip", token.strips_left},
          {"rstrip", token.strips_right},
          {"normalized", token.normalized},
          {"special", token.special}};
}

Json special_token(const std::string& content, int32_t id) {
  return json_of({.id = id, .content = content, .strips_left = content == "<mask>", .special = true});
}

// The added tokens of the settings, and the special tokens in the vocabulary, including those with `customary` names.
Json added_tokens_of(const FolderSettings& settings, const PieceIds& ids, std::vector<std::string> customary) {
  Json added = Json::array();
  std::set<std::string> names;
  for (const AddedToken& token : settings.added_tokens())
    if (token.id < settings.rows() && names.insert(token.content).second) added.push_back(json_of(token));
  for (const std::string& name : settings.special_names()) customary.push_back(name);
  for (const std::string& name : customary)
    if (ids.contains(name) && names.insert(name).second)
      added.push_back(special_token(name, ids.find(name)->second));
  return added;
}

struct Frame {
  std::string before = {}, after = {};  // tokens around a text; empty: none
};

// For byte-level BPE. A folder without a tokenizer class has <s> and </s>, if they are in its vocabulary.
Frame frame_of(const FolderSettings& settings, const PieceIds& ids) {
  const std::string type = settings.tokenizer_class();
  const bool is_bare = type == "GPT2Tokenizer" || type == "Qwen2Tokenizer";
  if (!is_bare && ids.contains("<s>") && ids.contains("</s>"))
    return {settings.token("cls_token", "<s>"), settings.token("sep_token", "</s>")};
  Frame frame;
  if (settings.flag("add_bos_token", false)) frame.before = settings.token("bos_token", "<|endoftext|>");
  if (settings.flag("add_eos_token", false)) frame.after = settings.token("eos_token", "<|endoftext|>");
  return frame;
}

Json template_of(const Frame& frame, const PieceIds& ids, const std::string& where) {
  Json parts = Json::array(), tokens = Json::object();
  const auto add = [&](const std::string& name) {
    if (name.empty()) return;
    const auto found = ids.find(name);
    require<InputError>(found != ids.end(), where, "there is no {}, which the settings put around a text",
                        quoted_name(name));
    parts.push_back({{"SpecialToken", {{"id", name}}}});
    tokens[name] = {{"ids", {found->second}}};
  };
  add(frame.before);
  parts.push_back({{"Sequence", {{"id", "A"}}}});
  add(frame.after);
  return {{"type", "TemplateProcessing"}, {"single", parts}, {"special_tokens", tokens}};
}

constexpr const char* words_of_qwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Json bytes_of_words(bool add_prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"use_regex", use_regex}};
}

// The lines of merges.txt, without the first one if that is a comment.
Json read_merges(const fs::path& file) {
  Json merges = Json::array();
  const std::string text = read_file(file, largest_vocabulary_file);
  require<InputError>(!utf8_error(text), file.string(), "this is not UTF-8");
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (!line.empty() && !(at == 0 && line.starts_with("#version"))) merges.push_back(line);
    at = end + 1;
  }
  return merges;
}

}  // namespace

std::string json_of_byte_level_bpe(const fs::path& folder, const FolderSettings& settings) {
  PieceIds ids = read_ids(folder / "vocab.json");
  const Json vocabulary = ids;
  for (const AddedToken& token : settings.added_tokens()) ids.try_emplace(token.content, token.id);
  const bool is_qwen = settings.tokenizer_class() == "Qwen2Tokenizer";
  const bool prefix = settings.flag("add_prefix_space", false);
  const Json json = {
      {"normalizer", is_qwen ? Json{{"type", "NFC"}} : Json()},
      {"pre_tokenizer",
       is_qwen ? Json{{"type", "Sequence"},
                      {"pretokenizers",
                       {{{"type", "Split"}, {"pattern", {{"Regex", words_of_qwen}}}, {"behavior", "Isolated"}},
                        bytes_of_words(prefix, false)}}}
               : bytes_of_words(prefix, true)},
      {"decoder", {{"type", "ByteLevel"}}},
      {"post_processor", template_of(frame_of(settings, ids), ids, (folder / "vocab.json").string())},
      {"added_tokens",
       added_tokens_of(settings, ids, {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"})},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", read_merges(folder / "merges.txt")}}}};
  return json.dump();
}

std::string json_of_word_piece(const fs::path& folder, const FolderSettings& settings) {
  const fs::path file = folder / "vocab.txt";
  const std::string text = read_file(file, largest_vocabulary_file);
  require<InputError>(!utf8_error(text), file.string(), "this is not UTF-8");
  PieceIds ids;
  std::vector<std::string> special;
  int32_t id = 0;
  for (size_t at = 0; at < text.size(); ++id) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string token = text.substr(at, end - at);
    if (token.ends_with('\r')) token.pop_back();
    if (token.size() > 2 && token.front() == '[' && token.back() == ']' && !token.starts_with("[unused"))
      special.push_back(token);
    ids[token] = id;
    at = end + 1;
  }
  const Json vocabulary = ids;
  for (const AddedToken& token : settings.added_tokens()) ids.try_emplace(token.content, token.id);
  Json normalizer = {{"type", "BertNormalizer"},
                     {"lowercase", settings.flag("do_lower_case", true)},
                     {"handle_chinese_chars", settings.flag("tokenize_chinese_chars", true)}};
  if (settings.has("strip_accents")) normalizer["strip_accents"] = settings.flag("strip_accents", true);
  const bool is_mpnet = settings.tokenizer_class() == "MPNetTokenizer";
  const Frame frame = {settings.token("cls_token", is_mpnet ? "<s>" : "[CLS]"),
                       settings.token("sep_token", is_mpnet ? "</s>" : "[SEP]")};
  const Json json = {
      {"normalizer", normalizer},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"post_processor", template_of(frame, ids, file.string())},
      {"added_tokens", added_tokens_of(settings, ids, special)},
      {"model",
       {{"type", "WordPiece"}, {"unk_token", settings.token("unk_token", "[UNK]")}, {"vocab", vocabulary}}}};
  return json.dump();
}

}  // namespace qkv
