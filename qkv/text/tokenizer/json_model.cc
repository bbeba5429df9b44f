// A tokenizer.json as the tokenizer of a model.
#include "qkv/base/json_fields.h"
#include "qkv/base/on_demand.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"
#include "qkv/text/tokenizer/tokenizer_json.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

class JsonModel final : public TokenizerModel {
 public:
  JsonModel(JsonTokenizer tokenizer, SpecialTokens special, std::string json)
      : tokenizer_(std::move(tokenizer)), special_(std::move(special)), json_(std::move(json)) {
    if (!tokenizer_.is_byte_level()) return;
    for (int32_t id = 0; id < size(); ++id) shown_.push_back(shown(id));
  }

  std::vector<int32_t> encode(std::string_view text, const TokenizeOptions& options) const override {
    return tokenizer_
        .encode(text,
                {.add_special = false, .special_in_text = options.parse_special, .special_at = options.special_at})
        .ids;
  }
  std::string decode(std::span<const int32_t> ids) const override { return tokenizer_.decode(ids); }
  const std::string& token(int32_t id) const override {
    return shown_.empty() ? tokenizer_.token(id) : shown_[static_cast<size_t>(id)];
  }
  bool is_text(int32_t id) const override {
    const std::string& token = tokenizer_.token(id);
    return !token.empty() && !tokenizer_.is_special(id) && !is_byte_token(token);
  }
  bool is_added(int32_t id) const override { return tokenizer_.is_added(id); }
  float score(int32_t) const override { return 0; }
  int64_t size() const override { return tokenizer_.size(); }
  // `token` is written as in the file.
  std::optional<int32_t> id_of(std::string_view token) const override { return tokenizer_.id_of(token); }
  const std::string& serialized() const override {
    return serialized_.get(
        [&] { return stored_head(special_) + "\"tokenizer\":" + Json::parse(json_).dump() + "}"; });
  }
  const SpecialTokens& special() const override { return special_; }

  std::optional<std::vector<int32_t>> encode_masked(std::string_view text, std::string_view marker) const override {
    if (special_.mask < 0) return {};
    std::string marked;
    for (size_t at; (at = text.find(marker)) != std::string_view::npos; text.remove_prefix(at + marker.size()))
      marked.append(text.substr(0, at)) += tokenizer_.token(special_.mask);
    marked += text;
    return tokenizer_.encode(marked, {.add_special = false, .special_token_in_text = special_.mask}).ids;
  }

 private:
  // The text of a token of bytes, if they are whole characters.
  std::string shown(int32_t id) const {
    const std::string& token = tokenizer_.token(id);
    if (tokenizer_.is_special(id)) return token;
    const std::string bytes = bytes_of_byte_level(token);
    if (utf8_error(bytes)) return token;
    std::string out;
    for (const char c : bytes)
      if (c == ' ')
        out += "\u2581";
      else
        out += c;
    return out;
  }

  JsonTokenizer tokenizer_;
  SpecialTokens special_;
  std::string json_;
  std::vector<std::string> shown_;  // of byte-level tokens
  OnDemand<std::string> serialized_;
};

}  // namespace

std::shared_ptr<const TokenizerModel> make_json_tokenizer(std::string json, const std::string& name,
                                                          SpecialTokens special, const SpecialNames& names) {
  const JsonTokenizer tokenizer = JsonTokenizer::parse(json, name);
  const auto find = [&](int32_t& id, std::initializer_list<std::string_view> tokens) {
    for (const std::string_view token : tokens)
      if (id < 0 && !token.empty()) id = tokenizer.id_of(token).value_or(-1);
  };
  if (names.takes_frame) special.frame = TextFrame{tokenizer.before(), tokenizer.after()};
  find(special.mask, {names.mask, "[MASK]", "<mask>"});
  find(special.unk, {names.unk, "[UNK]", "<unk>"});
  return std::make_shared<JsonModel>(tokenizer, std::move(special), std::move(json));
}

}  // namespace qkv
