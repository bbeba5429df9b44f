#include "qkv/published/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <set>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/published/gguf/gguf_words.h"
#include "qkv/published/gguf/sentencepiece_writer.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv {
namespace {

constexpr std::string_view space = "\u2581";  // what stands for one in SentencePiece

// Converters write the spaces of tokens that users defined, such as those for runs of spaces in Gemma, as spaces.
std::string with_space_marks(std::string token) {
  for (size_t at = token.find(' '); at != token.npos; at = token.find(' ', at + space.size()))
    token.replace(at, 1, space);
  return token;
}

class GgufVocabulary {
 public:
  GgufVocabulary(const GgufMetadata& metadata, int64_t rows, std::optional<int32_t> start)
      : metadata_(metadata), tokens_(metadata.texts("tokenizer.ggml.tokens")) {
    require<InputError>(!tokens_.empty(), metadata.file(), "there are no tokens ('tokenizer.ggml.tokens')");
    require<InputError>(std::ssize(tokens_) <= rows, metadata.file(), "there are {} tokens, the model has {} rows",
                        tokens_.size(), rows);
    for (const int64_t type : metadata.integers("tokenizer.ggml.token_type")) {
      require<InputError>(type >= 1 && type <= 6, metadata.file(), "the type of a token must be 1 to 6, got {}",
                          type);
      types_.push_back(PieceType{static_cast<uint32_t>(type)});
    }
    check_length("tokenizer.ggml.token_type", types_.size());
    types_.resize(tokens_.size(), PieceType::normal);
    special_ = {.pad = id("padding_token_id"),
                .bos = start ? checked(*start, "decoder_start_token_id") : id("bos_token_id", "cls_token_id"),
                .eos = id("eos_token_id"),
                .unk = id("unknown_token_id"),
                .mask = id("mask_token_id"),
                .ends = gguf_ends(metadata),
                .suppressed = {}};
    special_.rows = rows;
    if (special_.ends.empty() && special_.eos >= 0) special_.ends = {special_.eos};
    for (const int32_t end : special_.ends) checked(end, "eos_token_id");
    if (special_.bos < 0) special_.bos = special_.eos;
  }

  Tokenizer sentence_pieces(bool bpe) {
    std::vector<double> scores = metadata_.numbers("tokenizer.ggml.scores");
    check_length("tokenizer.ggml.scores", scores.size());
    scores.resize(tokens_.size(), 0.0);
    std::vector<Piece> pieces;
    for (size_t i = 0; i < tokens_.size(); ++i)
      pieces.push_back({types_[i] == PieceType::user_defined ? with_space_marks(tokens_[i]) : tokens_[i],
                        static_cast<float>(scores[i]), types_[i]});
    const bool names_unknown = std::ranges::count(types_, PieceType::unknown) > 0;
    if (!names_unknown && special_.unk >= 0) pieces[static_cast<size_t>(special_.unk)].type = PieceType::unknown;
    std::string model =
        sentencepiece_model(pieces, {.bpe = bpe,
                                     .add_dummy_prefix = setting("add_space_prefix", true),
                                     .remove_extra_whitespaces = setting("remove_extra_whitespaces", !bpe),
                                     .rules = metadata_.bytes("tokenizer.ggml.precompiled_charsmap")});
    special_.frame = TextFrame{before(bpe), after(!bpe)};
    if (special_.unk < 0)
      special_.unk = static_cast<int32_t>(std::ranges::find(types_, PieceType::unknown) - types_.begin());
    return Tokenizer(make_piece_tokenizer(std::move(model), metadata_.file(), std::nullopt, special_));
  }

  Tokenizer byte_level() {
    const GgufWords words = gguf_words(metadata_.text("tokenizer.ggml.pre", "default"), metadata_.file());
    return from_json({{"normalizer", words.normalizer},
                      {"pre_tokenizer", words.pre_tokenizer},
                      {"decoder", {{"type", "ByteLevel"}}},
                      {"post_processor", around(before(words.adds_bos), after(false))},
                      {"added_tokens", added_tokens()},
                      {"model",
                       {{"type", "BPE"},
                        {"vocab", vocabulary([](const std::string& token, PieceType) { return token; })},
                        {"merges", merges()},
                        {"ignore_merges", words.ignore_merges}}}});
  }

  // Pieces that begin a word have U+2581 before them, others nothing; tokenizer.json has "##" before those that continue
  // a word. A vocabulary with capital letters is one of cased text: the file does not say.
  Tokenizer word_pieces() {
    bool is_cased = false;
    const Json pieces = vocabulary([&](const std::string& token, PieceType type) {
      if (type == PieceType::control || (token.starts_with('[') && token.ends_with(']'))) return token;
      is_cased = is_cased || std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
      return token.starts_with(space) ? token.substr(space.size()) : "##" + token;
    });
    const std::string unknown = special_.unk >= 0 ? tokens_[static_cast<size_t>(special_.unk)] : "[UNK]";
    return from_json({{"normalizer", {{"type", "BertNormalizer"}, {"lowercase", !is_cased}}},
                      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                      {"post_processor", around(before(true), after(true))},
                      {"added_tokens", added_tokens()},
                      {"model", {{"type", "WordPiece"}, {"unk_token", unknown}, {"vocab", pieces}}}});
  }

 private:
  void check_length(const char* key, size_t length) const {
    require<InputError>(length == 0 || length == tokens_.size(), metadata_.file(),
                        "'{}' has {} entries for {} tokens", key, length, tokens_.size());
  }
  bool setting(const char* name, bool absent) const {
    return metadata_.flag(std::string("tokenizer.ggml.") + name, absent);
  }
  int32_t checked(int64_t id, const char* name) const {
    require<InputError>(id >= 0 && id < std::ssize(tokens_), metadata_.file(),
                        "'{}' must be an id of the {} tokens, got {}", name, tokens_.size(), id);
    return static_cast<int32_t>(id);
  }
  // Of the first of these keys; -1: none.
  int32_t id(const char* name, const char* other = "") const {
    for (const char* key : {name, other}) {
      const std::string full = std::string("tokenizer.ggml.") + key;
      if (metadata_.has(full)) return checked(metadata_.integer(full), full.c_str());
    }
    return -1;
  }

  std::vector<int32_t> before(bool absent) const {
    const int32_t bos = id("bos_token_id", "cls_token_id");
    return setting("add_bos_token", absent) && bos >= 0 ? std::vector{bos} : std::vector<int32_t>();
  }
  std::vector<int32_t> after(bool absent) const {
    const bool is_word_piece = metadata_.text("tokenizer.ggml.model") == "bert";
    const int32_t end = is_word_piece ? id("seperator_token_id", "eos_token_id") : id("eos_token_id");
    const bool adds = setting(is_word_piece ? "add_sep_token" : "add_eos_token", setting("add_eos_token", absent));
    return adds && end >= 0 ? std::vector{end} : std::vector<int32_t>();
  }

  // {"token": id}, without those that no text becomes by the model.
  template <class Rename>
  Json vocabulary(Rename rename) const {
    Json out = Json::object();
    std::vector<std::pair<std::string, int32_t>> members;
    std::set<std::string> seen;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (types_[i] == PieceType::unused) continue;
      std::string token = rename(tokens_[i], types_[i]);
      require<InputError>(seen.insert(token).second, metadata_.file(), "two tokens are {}", quoted_name(token));
      members.emplace_back(std::move(token), static_cast<int32_t>(i));
    }
    for (auto& [token, number] : members) out.append(std::move(token), number);
    return out;
  }

  Json merges() const {
    const std::vector<std::string>& all = metadata_.texts("tokenizer.ggml.merges");
    require<InputError>(!all.empty(), metadata_.file(), "there are no merges ('tokenizer.ggml.merges')");
    Json out = Json::array();
    for (const std::string& merge : all) {
      const size_t at = merge.find(' ', 1);
      require<InputError>(at != merge.npos, metadata_.file(), "a merge must be two tokens and a space, got {}",
                          quoted_name(merge));
      out.push_back(Json::array({merge.substr(0, at), merge.substr(at + 1)}));
    }
    return out;
  }

  Json added_tokens() const {
    Json out = Json::array();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const auto number = static_cast<int32_t>(i);
      const bool is_named = number == special_.unk || number == special_.pad || number == special_.mask;
      const bool special = types_[i] == PieceType::control || types_[i] == PieceType::unknown || is_named;
      if (!special && types_[i] != PieceType::user_defined) continue;
      out.push_back({{"id", number},
                     {"content", tokens_[i]},
                     {"single_word", false},
                     {"lstrip", number == special_.mask},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", special}});
    }
    return out;
  }

  Json around(const std::vector<int32_t>& before, const std::vector<int32_t>& after) const {
    Json parts = Json::array(), used = Json::object();
    const auto add = [&](int32_t number) {
      const std::string& name = tokens_[static_cast<size_t>(number)];
      parts.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
      used[name] = {{"id", name}, {"ids", Json::array({number})}, {"tokens", Json::array({name})}};
    };
    for (const int32_t number : before) add(number);
    parts.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    for (const int32_t number : after) add(number);
    return {{"type", "TemplateProcessing"}, {"single", parts}, {"special_tokens", used}};
  }

  Tokenizer from_json(const Json& json) const {
    return Tokenizer(make_json_tokenizer(json.dump(), metadata_.file(), special_, {.takes_frame = true}));
  }

  const GgufMetadata& metadata_;
  const std::vector<std::string>& tokens_;
  std::vector<PieceType> types_;
  SpecialTokens special_;
};

}  // namespace

Tokenizer gguf_tokenizer(const GgufMetadata& metadata, int64_t rows, std::optional<int32_t> start) {
  const std::string model = metadata.text("tokenizer.ggml.model");
  constexpr std::string_view known[] = {"llama", "t5", "gpt2", "bert"};
  require<InputError>(std::ranges::find(known, model) != std::end(known), metadata.file(),
                      "'tokenizer.ggml.model' {} is not supported, only {}", quoted_name(model), name_list(known));
  GgufVocabulary vocabulary(metadata, rows, start);
  if (model == "gpt2") return vocabulary.byte_level();
  if (model == "bert") return vocabulary.word_pieces();
  return vocabulary.sentence_pieces(/*bpe=*/model == "llama");
}

std::optional<std::string> gguf_chat_template(const GgufMetadata& metadata) {
  if (!metadata.has("tokenizer.chat_template")) return {};
  return metadata.text("tokenizer.chat_template");
}

std::vector<int32_t> gguf_ends(const GgufMetadata& metadata) {
  std::vector<int32_t> ends;
  for (const char* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (!metadata.has(key)) continue;
    const int64_t id = metadata.integer(key);
    require<InputError>(id >= 0 && id < 1 << 24, metadata.file(), "'{}' must be an id, got {}", key, id);
    const auto number = static_cast<int32_t>(id);
    if (std::ranges::find(ends, number) == ends.end()) ends.push_back(number);
  }
  return ends;
}

}  // namespace qkv
