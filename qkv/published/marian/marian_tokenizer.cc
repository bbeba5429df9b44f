// Vocabularies of Marian: a SentencePiece model with the ids of its pieces; or tokens and their ids in YAML or JSON,
// with source.spm and target.spm or for texts that are already tokens; or a token per line.
#include <charconv>
#include <yaml-cpp/yaml.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/marian/marian_folder.h"
#include "qkv/published/marian/yaml.h"
#include "qkv/published/word_vocabulary.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr int32_t largest_id = 1 << 24;

int32_t id_of(const std::string& token, const YAML::Node& value, const std::string& where) {
  const std::string text = value.IsScalar() ? value.Scalar() : "";
  int32_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  require<InputError>(error == std::errc() && end == text.data() + text.size() && id >= 0 && id < largest_id, where,
                      "the id of {} must be a number from 0 to {}, got {}", quoted_name(token), largest_id - 1,
                      value.IsScalar() ? quoted_name(text).text()
                      : value.IsNull() ? "nothing"
                                       : "a list or a map");
  return id;
}

// A map of tokens, which are always text, even if they look like "yes" or 1.5.
PieceIds parse_tokens(const std::string& text, const std::string& where) {
  const YAML::Node root = parse_yaml(text, where);
  require<InputError>(root.IsMap(), where, "this is not a map of tokens and their ids");
  PieceIds ids;
  for (const auto& entry : root) {
    require<InputError>(entry.first.IsScalar(), where,
                        "a token must be a text; null and ~ are texts in quotation marks");
    ids[entry.first.Scalar()] = id_of(entry.first.Scalar(), entry.second, where);
  }
  return ids;
}

PieceIds parse_lines(const std::string& text) {
  PieceIds ids;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    ids.emplace(text.substr(at, end - at), static_cast<int32_t>(ids.size()));
    at = end + 1;
  }
  return ids;
}

PieceIds read_tokens(const fs::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".json") return read_ids(file);
  const std::string text = read_file(file, largest_vocabulary_file);
  require<InputError>(!utf8_error(text), file.string(), "this is not UTF-8");
  return ending == ".yml" || ending == ".yaml" ? parse_tokens(text, file.string()) : parse_lines(text);
}

SpecialTokens special_of(int32_t eos, int32_t unk, int32_t start, int64_t rows) {
  return {.pad = -1,
          .bos = start,
          .eos = eos,
          .unk = unk,
          .ends = {eos},
          .suppressed = start < 0 ? std::vector{unk} : std::vector{unk, start},
          .frame = TextFrame{.before = {}, .after = {eos}},
          .rows = rows};
}

}  // namespace

Tokenizer marian_tokenizer(const fs::path& file, TokenizerSide side, int32_t start, int64_t rows) {
  require<InputError>(file.extension() != ".fsv", file.string(), "factored vocabularies are not supported");
  if (file.extension() == ".spm")
    return Tokenizer(make_piece_tokenizer(read_file(file, largest_vocabulary_file), file.string(), std::nullopt,
                                          special_of(0, 1, start, rows)));
  const PieceIds ids = read_tokens(file);
  const auto id = [&](const char* token) {
    const auto found = ids.find(token);
    require<InputError>(found != ids.end(), file.string(), "there is no {}", quoted_name(token));
    return found->second;
  };
  const SpecialTokens special = special_of(id("</s>"), id("<unk>"), start, rows);
  if (const fs::path pieces = file.parent_path() / (side == TokenizerSide::source ? "source.spm" : "target.spm");
      file_exists(pieces))
    return Tokenizer(
        make_piece_tokenizer(read_file(pieces, largest_vocabulary_file), pieces.string(), ids, special));
  return Tokenizer(make_json_tokenizer(json_of_words(ids, "<unk>", {"</s>"}), file.string(), special));
}

}  // namespace qkv
