// Vocabularies of before tokenizer.json.
#include "qkv/base/file.h"
#include "qkv/text/published/formats.h"
#include "qkv/text/tokenizer/json_fields.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

Json added_token(const std::string& content, int32_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", content == "<mask>"},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
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

std::string json_of_byte_level_bpe(const fs::path& folder) {
  const PieceIds ids = read_ids(folder / "vocab.json");
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
  const std::string text = read_file(file, largest_vocabulary_file);
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

std::string json_of_words(const PieceIds& ids, const std::string& unknown,
                          const std::vector<std::string>& special) {
  Json added = Json::array();
  for (const std::string& token : special)
    if (const auto found = ids.find(token); found != ids.end()) added.push_back(added_token(token, found->second));
  Json json = {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
               {"added_tokens", added},
               {"model", {{"type", "WordLevel"}, {"vocab", ids}}}};
  if (!unknown.empty()) json["model"]["unk_token"] = unknown;
  return json.dump();
}

PieceIds read_ids(const fs::path& file) {
  const auto json = parse_json_object(read_file(file, largest_vocabulary_file), file.string(),
                                      {.bytes = largest_vocabulary_file, .depth = 2, .name_bytes = 20'000});
  PieceIds ids;
  for (const auto& [token, id] : json.items()) {
    require<InputError>(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < 1 << 24,
                        file.string(), "the id of {} must be an integer from 0 to {}, got {}", quoted_name(token),
                        (1 << 24) - 1, shown_json(id));
    ids[token] = id.get<int32_t>();
  }
  return ids;
}

}  // namespace qkv
