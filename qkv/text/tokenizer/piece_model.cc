// A SentencePiece model as the tokenizer of a model; its pieces may have other ids than in the file.
#include <algorithm>

#include <sentencepiece_processor.h>

#include "qkv/base/base64.h"
#include "qkv/base/error.h"
#include "qkv/base/json_fields.h"
#include "qkv/base/on_demand.h"
#include "qkv/text/sentencepiece_check.h"
#include "qkv/text/tokenizer/added_tokens.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"
#include "qkv/text/tokenizer/unknown_runs.h"

namespace qkv {
namespace {

// Pieces that a model lacks, such as those of the other side, keep their marks when it joins them.
std::string with_spaces(std::string_view text) {
  constexpr std::string_view mark = "\u2581";
  std::string out;
  for (size_t at; (at = text.find(mark)) != std::string_view::npos; text.remove_prefix(at + mark.size())) {
    out += text.substr(0, at);
    out += ' ';
  }
  return out.append(text);
}

class PieceModel final : public TokenizerModel {
 public:
  PieceModel(std::string bytes, const std::string& name, std::optional<PieceIds> ids, SpecialTokens special,
             std::vector<int32_t> in_text)
      : special_(std::move(special)), bytes_(std::move(bytes)), has_own_ids_(!ids), in_text_(std::move(in_text)) {
    if (const auto wrong = sentencepiece_error(bytes_))
      fail<InputError>(name, "not a SentencePiece model: {}", *wrong);
    const auto status = processor_.LoadFromSerializedProto(bytes_);
    if (!status.ok()) fail<InputError>(name, "not a SentencePiece model: {}", one_line(status.message()));
    if (ids) {
      ids_ = std::move(*ids);
    } else {
      for (int id = 0; id < processor_.GetPieceSize(); ++id) ids_[processor_.IdToPiece(id)] = id;
    }
    for (const auto& [piece, id] : ids_) {
      require<InputError>(id >= 0, name, "the id of {} is {}", quoted_name(piece), id);
      if (id >= std::ssize(tokens_)) tokens_.resize(static_cast<size_t>(id) + 1);
      tokens_[static_cast<size_t>(id)] = piece;
    }
    find_added_tokens();
    for (const int32_t id : in_text_)
      require<InputError>(id < size(), name, "'in_text': {} is not an id of its {} tokens", id, size());
  }

  // A language mark of Marian, ">>de<<" in front of the text, is one token.
  std::vector<int32_t> encode(std::string_view text, const TokenizeOptions& options) const override {
    std::vector<int32_t> out;
    if (const size_t end = text.starts_with(">>") ? text.find("<<") : std::string_view::npos;
        end != std::string_view::npos) {
      const auto mark = ids_.find(text.substr(0, end + 2));
      if (mark != ids_.end()) {
        out.push_back(mark->second);
        text.remove_prefix(end + 2);
      }
    }
    if (in_text_.empty() && !options.parse_special) {
      encode_text(text, out);
      return out;
    }
    added_.for_each(
        text, [&](const AddedToken&, size_t at) { return options.finds_special(at); },
        [&](TextRange range, int32_t id) {
          if (id >= 0) return out.push_back(id);
          encode_text(text.substr(range.begin, range.end - range.begin), out);
        });
    return out;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::vector<std::string> pieces;
    for (const int32_t id : ids)
      if (is_text(id) || is_byte_token(token(id))) pieces.push_back(token(id));
    std::string text;
    const auto status = processor_.Decode(pieces, &text);
    if (!status.ok()) fail("Tokenizer::decode", "{}", status.message());
    text = with_spaces(text);
    const size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  }
  const std::string& token(int32_t id) const override { return tokens_[static_cast<size_t>(id)]; }
  bool is_text(int32_t id) const override {
    const std::string& piece = token(id);
    const bool special = id == special_.pad || id == special_.eos || id == special_.unk || piece == "<s>" ||
                         piece == "</s>" || std::ranges::find(special_.added, id) != special_.added.end();
    return !piece.empty() && !special && !is_byte_token(piece);
  }
  bool is_added(int32_t id) const override {
    const int piece = processor_.PieceToId(token(id));
    return processor_.IdToPiece(piece) != token(id) || processor_.IsControl(piece) || processor_.IsUnknown(piece);
  }
  float score(int32_t) const override { return 0; }
  int64_t size() const override { return std::ssize(tokens_); }
  std::optional<int32_t> id_of(std::string_view token) const override {
    const auto found = ids_.find(token);
    if (found == ids_.end()) return {};
    return found->second;
  }
  const std::string& serialized() const override {
    return serialized_.get([&] {
      std::string out = stored_head(special_) + "\"sentencepiece\":\"" + base64_encoded(bytes_) + "\"";
      if (!has_own_ids_) out += ",\"ids\":" + Json(ids_).dump();
      if (!in_text_.empty()) out += ",\"in_text\":" + Json(in_text_).dump();
      return out + "}";
    });
  }
  const SpecialTokens& special() const override { return special_; }

 private:
  // Tokens that are found in a text before the model cuts it: those of in_text_ always, special ones on request.
  void find_added_tokens() {
    std::vector<int32_t> special = special_.added;
    special.insert(special.end(), special_.ends.begin(), special_.ends.end());
    for (const int32_t id : {special_.pad, special_.bos, special_.eos, special_.mask}) special.push_back(id);
    for (int piece = 0; piece < processor_.GetPieceSize(); ++piece)
      if (processor_.IsControl(piece)) special.push_back(id_of(processor_.IdToPiece(piece)).value_or(-1));
    std::ranges::sort(special);
    special.erase(std::unique(special.begin(), special.end()), special.end());
    std::vector<AddedToken> tokens;
    const auto add = [&](int32_t id, bool is_special) {
      if (id >= 0 && id < size()) tokens.push_back({.id = id, .content = token(id), .special = is_special});
    };
    for (const int32_t id : special) add(id, true);
    for (const int32_t id : in_text_) add(id, false);
    added_ = AddedTokens(std::move(tokens));
  }

  void encode_text(std::string_view text, std::vector<int32_t>& out) const {
    const UnknownRuns& unknown = unknown_.get([&] {
      size_t longest = 64;
      for (const auto& [piece, id] : ids_) longest = std::max(longest, piece.size() + 1);
      return UnknownRuns(processor_, sentencepiece_rules(bytes_), longest);
    });
    std::vector<std::string> pieces;
    const auto status = processor_.Encode(unknown.shortened(text), &pieces);
    if (!status.ok()) fail<TextError>("Tokenizer::encode", "{}", status.message());
    for (const std::string& piece : pieces) {
      const auto found = ids_.find(piece);
      out.push_back(found == ids_.end() ? special_.unk : found->second);
    }
  }

  sentencepiece::SentencePieceProcessor processor_;
  SpecialTokens special_;
  std::string bytes_;
  bool has_own_ids_;
  std::vector<int32_t> in_text_;
  AddedTokens added_;
  OnDemand<UnknownRuns> unknown_;
  PieceIds ids_;
  std::vector<std::string> tokens_;
  OnDemand<std::string> serialized_;
};

}  // namespace

std::vector<std::string> pieces_of(const std::string& bytes, const std::string& name) {
  if (const auto wrong = sentencepiece_error(bytes))
    fail<InputError>(name, "not a SentencePiece model: {}", *wrong);
  sentencepiece::SentencePieceProcessor processor;
  const auto status = processor.LoadFromSerializedProto(bytes);
  if (!status.ok()) fail<InputError>(name, "not a SentencePiece model: {}", one_line(status.message()));
  std::vector<std::string> pieces;
  pieces.reserve(static_cast<size_t>(processor.GetPieceSize()));
  for (int id = 0; id < processor.GetPieceSize(); ++id) pieces.push_back(processor.IdToPiece(id));
  return pieces;
}

std::shared_ptr<const TokenizerModel> make_piece_tokenizer(std::string bytes, const std::string& name,
                                                           std::optional<PieceIds> ids, SpecialTokens special,
                                                           std::vector<int32_t> in_text) {
  return std::make_shared<PieceModel>(std::move(bytes), name, std::move(ids), std::move(special),
                                      std::move(in_text));
}

}  // namespace qkv
