#include "qkv/published/gguf/gguf_tokenizer_keys.h"

#include <algorithm>

#include "qkv/base/base64.h"
#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/published/gguf/gguf_words.h"
#include "qkv/published/gguf/sentencepiece_reader.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv {
namespace {

constexpr std::string_view piece_space = "\u2581";  // what stands for one in SentencePiece

[[noreturn]] void refuse(std::string_view why) {
  fail<UsageError>("convert", "the tokenizer of this model cannot be written to a GGUF file: {}", why);
}

// The items of an array; none if it is missing.
Json list(const Json& value) { return value.is_array() ? value : Json::array(); }

// The tokens by id.
struct Tokens {
  std::vector<std::string> texts;
  std::vector<PieceType> types;
  std::vector<float> scores;

  explicit Tokens(int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) texts.push_back(fmt::format("[PAD{}]", i));
    types.assign(static_cast<size_t>(rows), PieceType::unused);
    scores.assign(static_cast<size_t>(rows), never_merged);
  }
  // Tokens without a row, such as <image_soft_token> of Gemma 3, are left out.
  void set(int64_t id, std::string text, PieceType type, float score = never_merged) {
    if (id < 0 || id >= std::ssize(texts)) return;
    const auto i = static_cast<size_t>(id);
    texts[i] = std::move(text), types[i] = type, scores[i] = score;
  }
  void set_type(int64_t id, PieceType type) {
    if (id >= 0 && id < std::ssize(types)) types[static_cast<size_t>(id)] = type;
  }

  static constexpr float never_merged = -1e6f;  // below every rank
};

class TokenizerKeys {
 public:
  TokenizerKeys(GgufKeys& keys, const Tokenizer& tokenizer, const GgufTokenizerOptions& options)
      : keys_(keys), special_(tokenizer.special()), options_(options), tokens_(options.rows) {}

  void add_pieces(const std::string& bytes, const Json& ids, const Json& in_text) {
    const SentencePieceFile file = read_sentencepiece(bytes);
    if (!file.is_subword) refuse("it has words or characters, not subwords");
    for (size_t i = 0; i < file.pieces.size(); ++i) {
      const Piece& piece = file.pieces[i];
      const Json* id = ids.find(piece.text);
      if (ids.is_object() && !id) continue;
      tokens_.set(id ? id->get<int64_t>() : static_cast<int64_t>(i), piece.text, piece.type, piece.score);
    }
    if (ids.is_object())
      for (const auto& [piece, id] : ids.items())
        if (is_unused(id.get<int64_t>())) tokens_.set(id.get<int64_t>(), piece, PieceType::control);
    for (const Json& id : list(in_text)) tokens_.set_type(id.get<int64_t>(), PieceType::user_defined);
    for (const int32_t id : special_.added) tokens_.set_type(id, PieceType::control);
    add_piece_model(file.settings);
  }

  void add_json(const Json& json) {
    const Json& model = json.at("model");
    const std::string type = model.value("type").is_string() ? model["type"].text() : "BPE";
    if (type == "WordPiece") return add_word_pieces(json);
    if (type == "Unigram") return add_unigram(json);
    if (type != "BPE")
      refuse(fmt::format("its model is {}, which llama.cpp does not read", quoted_name(type).text()));
    if (model.value("byte_fallback") == Json(true)) return add_bpe_pieces(json);
    add_byte_level(json);
  }

 private:
  bool is_unused(int64_t id) const {
    return id >= 0 && id < std::ssize(tokens_.types) && tokens_.types[static_cast<size_t>(id)] == PieceType::unused;
  }

  // Of a tokenizer.json: found in a text before the model sees it.
  void set_added(const Json& json) {
    for (const Json& token : list(json.value("added_tokens"))) {
      const auto id = token.at("id").get<int64_t>();
      const bool special = token.value("special") == Json(true);
      tokens_.set(id, token.at("content").text(), special ? PieceType::control : PieceType::user_defined);
    }
  }
  template <class Rename>
  void set_vocabulary(const Json& model, Rename rename) {
    for (const Json::Member& member : model.at("vocab").items())
      tokens_.set(member.value.get<int64_t>(), rename(member.name), PieceType::normal);
  }
  static std::pair<std::string, std::string> merge_of(const Json& merge) {
    if (merge.is_array()) return {merge[0].text(), merge[1].text()};
    const std::string& text = merge.text();
    const size_t at = text.find(' ', 1);
    return {text.substr(0, at), text.substr(std::min(at + 1, text.size()))};
  }

  void add_byte_level(const Json& json) {
    const Json &model = json["model"], &words = json.value("pre_tokenizer"), &normalizer = json.value("normalizer");
    const bool ignore_merges = model.value("ignore_merges") == Json(true);
    const std::optional<std::string> pre = gguf_words_name(normalizer, words, ignore_merges);
    if (!pre)
      refuse(
          fmt::format("'tokenizer.ggml.pre' has no name for its words; its normalizer is {}, its pre_tokenizer {}",
                      one_line(normalizer.dump(), 200), one_line(words.dump(), 600)));
    set_vocabulary(model, [](const std::string& token) { return token; });
    set_added(json);
    std::vector<std::string> merges;
    for (const Json& merge : model.at("merges")) {
      auto [text, right] = merge_of(merge);
      merges.push_back((text += ' ') += right);
    }
    begin("gpt2", *pre);
    keys_.texts("tokenizer.ggml.merges", merges);
    add_ids();
  }

  // What SentencePiece calls BPE: pieces have scores, here by the rank of the first merge that makes them.
  void add_bpe_pieces(const Json& json) {
    const Json& model = json["model"];
    set_vocabulary(model, [](const std::string& token) { return token; });
    std::map<std::string, float, std::less<>> ranks;
    for (const Json& merge : model.at("merges")) {
      const auto [left, right] = merge_of(merge);
      ranks.emplace(left + right, -static_cast<float>(ranks.size()) - 1);
    }
    const bool marked = marks_spaces(json);
    for (const auto& [token, id] : model["vocab"].items()) {
      const auto rank = ranks.find(token);
      tokens_.set(id.get<int64_t>(), marked ? token : with_marks(token),
                  is_byte_token(token) ? PieceType::byte : PieceType::normal,
                  rank == ranks.end() ? Tokens::never_merged : rank->second);
    }
    set_added(json);
    const auto prefix = prefix_of(json);
    add_piece_model({.bpe = true, .add_dummy_prefix = prefix, .remove_extra_whitespaces = false});
  }

  void add_unigram(const Json& json) {
    const Json& model = json["model"];
    int64_t id = 0;
    for (const Json& piece : model.at("vocab"))
      tokens_.set(id++, piece[0].text(), PieceType::normal, piece[1].get<float>());
    set_added(json);
    if (model.value("unk_id").is_number()) tokens_.set_type(model["unk_id"].get<int64_t>(), PieceType::unknown);
    SentencePieceSettings settings = {.add_dummy_prefix = prefix_of(json), .remove_extra_whitespaces = true};
    for (const Json& step : steps_of(json.value("normalizer"), "normalizers"))
      if (step.value("precompiled_charsmap").is_string())
        settings.rules = base64_decoded(step["precompiled_charsmap"].text(), "tokenizer");
    add_piece_model(settings);
  }

  // Pieces that begin a word have the space before them, and none has "##".
  void add_word_pieces(const Json& json) {
    const Json &model = json["model"], &normalizer = json.value("normalizer");
    const std::string prefix = "##";
    if (model.value("continuing_subword_prefix").is_string() && model["continuing_subword_prefix"].text() != prefix)
      refuse("the pieces within a word must begin with ##");
    if (normalizer.value("type") != Json("BertNormalizer") ||
        json.value("pre_tokenizer").value("type") != Json("BertPreTokenizer"))
      refuse("WordPiece must have the normalizer and the pre_tokenizer of BERT");
    bool has_capitals = false;
    set_vocabulary(model, [&](const std::string& token) {
      if (token.starts_with('[') && token.ends_with(']')) return token;
      has_capitals = has_capitals || std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
      return token.starts_with(prefix) ? token.substr(prefix.size()) : std::string(piece_space) + token;
    });
    if (has_capitals == (normalizer.value("lowercase") == Json(true)))
      refuse("readers tell cased text by the capital letters of the vocabulary, which this one contradicts");
    set_added(json);
    begin("bert", "default");
    keys_.count("tokenizer.ggml.token_type_count", std::max<int64_t>(options_.token_types, 1));
    const TextFrame& frame = options_.frame;
    if (frame.before.size() != 1 || frame.after.size() != 1)
      refuse("BERT must have one token before and one after a text");
    keys_.count("tokenizer.ggml.bos_token_id", frame.before.front());
    keys_.count("tokenizer.ggml.seperator_token_id", frame.after.front());
    add_named_ids();
  }

  static Json steps_of(const Json& step, const char* parts) {
    if (step.value("type") == Json("Sequence")) return list(step.value(parts));
    return step.is_null() ? Json::array() : Json::array({step});
  }

  // Whether U+2581 stands for a space in the tokens. That of llama2.c has spaces, for which SentencePiece has U+2581.
  static bool marks_spaces(const Json& json) {
    for (const Json& step : steps_of(json.value("normalizer"), "normalizers"))
      if (step.value("type") == Json("Replace") && step.value("content") == Json(piece_space)) return true;
    for (const Json& step : steps_of(json.value("pre_tokenizer"), "pretokenizers"))
      if (step.value("type") == Json("Metaspace")) return true;
    return false;
  }
  static std::string with_marks(std::string token) {
    for (size_t at = 0; (at = token.find(' ', at)) != token.npos; at += piece_space.size())
      token.replace(at, 1, piece_space);
    return token;
  }

  // Whether a space is put before a text. An error for steps that are not those of SentencePiece.
  static bool prefix_of(const Json& json) {
    bool adds = false;
    for (const Json& step : steps_of(json.value("normalizer"), "normalizers")) {
      const std::string type = step.value("type").is_string() ? step["type"].text() : "";
      adds = adds || type == "Prepend";
      if (type != "Prepend" && type != "Replace" && type != "Precompiled" && type != "Strip")
        refuse(fmt::format("a normalizer {} is not one of SentencePiece", quoted_name(type).text()));
    }
    for (const Json& step : steps_of(json.value("pre_tokenizer"), "pretokenizers")) {
      const std::string type = step.value("type").is_string() ? step["type"].text() : "";
      if (type == "Metaspace") adds = adds || step.value("prepend_scheme") != Json("never");
      if (type != "Metaspace" && type != "WhitespaceSplit" && type != "Split")
        refuse(fmt::format("a pre_tokenizer {} is not one of SentencePiece", quoted_name(type).text()));
    }
    return adds;
  }

  void begin(const char* model, std::string_view pre) {
    keys_.text("tokenizer.ggml.model", model);
    keys_.text("tokenizer.ggml.pre", pre);
    keys_.texts("tokenizer.ggml.tokens", tokens_.texts);
    std::vector<int32_t> types;
    for (const PieceType type : tokens_.types) types.push_back(static_cast<int32_t>(type));
    keys_.integers("tokenizer.ggml.token_type", types);
  }

  void add_piece_model(const SentencePieceSettings& settings) {
    tokens_.set_type(special_.unk, PieceType::unknown);
    for (size_t i = 0; i < tokens_.texts.size(); ++i)
      if (tokens_.types[i] == PieceType::user_defined) tokens_.texts[i] = with_spaces(tokens_.texts[i]);
    begin(settings.bpe ? "llama" : "t5", "default");
    keys_.reals("tokenizer.ggml.scores", tokens_.scores);
    keys_.flag("tokenizer.ggml.add_space_prefix", settings.add_dummy_prefix);
    keys_.flag("tokenizer.ggml.remove_extra_whitespaces", settings.remove_extra_whitespaces);
    if (!settings.rules.empty()) keys_.data("tokenizer.ggml.precompiled_charsmap", settings.rules);
    add_ids();
  }
  // Tokens that are found in a text are written as they stand there.
  static std::string with_spaces(std::string text) {
    for (size_t at; (at = text.find(piece_space)) != text.npos;) text.replace(at, piece_space.size(), " ");
    return text;
  }

  void add_ids() {
    const auto& [before, after] = options_.frame;
    if (before.size() > 1 || after.size() > 1 || (!after.empty() && after.front() != special_.eos))
      refuse("only one token may stand before a text, and only the end of a sequence after it");
    const int32_t bos = !before.empty() ? before.front() : options_.starts_with_bos ? special_.bos : -1;
    id("bos_token_id", bos);
    keys_.flag("tokenizer.ggml.add_bos_token", !before.empty());
    keys_.flag("tokenizer.ggml.add_eos_token", !after.empty());
    add_named_ids();
  }
  // A model may have more ends of an answer than there are keys: llama.cpp knows those of published models by name.
  void add_named_ids() {
    id("eos_token_id", special_.eos);
    id("padding_token_id", special_.pad);
    id("unknown_token_id", special_.unk);
    id("mask_token_id", special_.mask);
    const char* const more[] = {"eot_token_id", "eom_token_id"};
    size_t next = 0;
    for (const int32_t end : special_.ends)
      if (end != special_.eos && next < std::size(more)) id(more[next++], end);
  }
  void id(const char* name, int32_t id) {
    if (id >= 0 && id < options_.rows) keys_.count(std::string("tokenizer.ggml.") + name, id);
  }

  GgufKeys& keys_;
  const SpecialTokens& special_;
  const GgufTokenizerOptions& options_;
  Tokens tokens_;
};

}  // namespace

void add_tokenizer(GgufKeys& keys, const Tokenizer& tokenizer, const GgufTokenizerOptions& options) {
  constexpr JsonLimits limits = {.bytes = largest_vocabulary_file, .depth = 34, .name_bytes = 20'000};
  TokenizerKeys out(keys, tokenizer, options);
  const std::string& bytes = tokenizer.serialized();
  if (!is_stored_tokenizer(bytes)) return out.add_pieces(bytes, {}, {});
  const Json stored = parse_json_object(bytes, "tokenizer", limits);
  if (!stored.contains("sentencepiece")) return out.add_json(stored.at("tokenizer"));
  out.add_pieces(base64_decoded(stored["sentencepiece"].text(), "tokenizer"), stored.value("ids"),
                 stored.value("in_text"));
}

}  // namespace qkv
