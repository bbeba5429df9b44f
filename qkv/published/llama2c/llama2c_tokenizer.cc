// The vocabulary of llama2.c: the length of the longest token, then the score, the length and the bytes of each. Two
// tokens are merged if the result is a token, the one with the highest score first.
#include <algorithm>
#include <cstring>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json_fields.h"
#include "qkv/published/llama2c/llama2c.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

struct Scored {
  float score;
  std::string token;
};

std::vector<Scored> read_scored(const fs::path& file) {
  const std::string bytes = read_file(file, largest_vocabulary_file);
  std::vector<Scored> out;
  size_t at = sizeof(int32_t);
  while (at < bytes.size()) {
    constexpr size_t head = sizeof(float) + sizeof(int32_t);
    const bool has_head = bytes.size() - at >= head;
    Scored entry{};
    uint32_t length = 0;
    if (has_head) {
      std::memcpy(&entry.score, bytes.data() + at, sizeof(float));
      std::memcpy(&length, bytes.data() + at + sizeof(float), sizeof(int32_t));
    }
    require<InputError>(has_head && length <= bytes.size() - at - head, file.string(),
                        "the file ends within token {}", out.size());
    constexpr size_t longest = 4096;  // each token is split at every byte, to find the pair that it is merged from
    require<InputError>(length <= longest, file.string(), "token {} of {} bytes is longer than {}", out.size(),
                        length, longest);
    entry.token = bytes.substr(at + head, length);
    require<InputError>(!utf8_error(entry.token), file.string(), "token {} is not UTF-8", out.size());
    out.push_back(std::move(entry));
    at += head + length;
  }
  require<InputError>(out.size() > 3, file.string(), "not a vocabulary: it has {} tokens", out.size());
  return out;
}

Json merges_of(const std::vector<Scored>& tokens, const PieceIds& ids) {
  std::vector<const Scored*> by_score;
  by_score.reserve(tokens.size());
  for (const Scored& entry : tokens) by_score.push_back(&entry);
  std::stable_sort(by_score.begin(), by_score.end(),
                   [](const Scored* a, const Scored* b) { return a->score > b->score; });
  Json merges = Json::array();
  for (const Scored* entry : by_score) {
    const std::string_view token = entry->token;
    if (is_byte_token(token)) continue;
    for (size_t split = 1; split < token.size(); ++split)
      if (ids.contains(token.substr(0, split)) && ids.contains(token.substr(split)))
        merges.push_back({token.substr(0, split), token.substr(split)});
  }
  return merges;
}

}  // namespace

Tokenizer llama2c_tokenizer(const fs::path& file, int64_t rows) {
  const std::vector<Scored> tokens = read_scored(file);
  PieceIds ids;
  for (size_t i = 0; i < tokens.size(); ++i) ids.emplace(tokens[i].token, static_cast<int32_t>(i));
  Json added = Json::array();
  for (int id = 0; id < 3; ++id)
    added.push_back({{"id", id}, {"content", tokens[static_cast<size_t>(id)].token}, {"special", true}});
  const Json json = {{"normalizer", {{"type", "Prepend"}, {"prepend", " "}}},
                     {"decoder",
                      {{"type", "Sequence"},
                       {"decoders",
                        {{{"type", "ByteFallback"}},
                         {{"type", "Fuse"}},
                         {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
                     {"added_tokens", added},
                     {"model",
                      {{"type", "BPE"},
                       {"unk_token", tokens[0].token},
                       {"byte_fallback", true},
                       {"vocab", ids},
                       {"merges", merges_of(tokens, ids)}}}};
  // A text begins with token 1, which also separates the texts that the model was trained on.
  const SpecialTokens special = {.pad = -1,
                                 .bos = 1,
                                 .eos = 2,
                                 .unk = 0,
                                 .ends = {1, 2},
                                 .suppressed = {0},
                                 .frame = TextFrame{.before = {1}, .after = {}},
                                 .rows = rows};
  return Tokenizer(make_json_tokenizer(json.dump(), file.string(), special));
}

}  // namespace qkv
