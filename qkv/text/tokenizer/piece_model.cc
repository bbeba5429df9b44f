// A SentencePiece model whose pieces may have ids of their own, as the tokenizer of a model.
#include <algorithm>

#include <sentencepiece_processor.h>

#include "qkv/base/base64.h"
#include "qkv/base/error.h"
#include "qkv/base/on_demand.h"
#include "qkv/text/sentencepiece_check.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/json_fields.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv {
namespace {

// Pieces that a model does not have, those of the other side, keep their marks when it joins them.
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
  PieceModel(std::string bytes, const std::string& name, std::optional<PieceIds> ids, SpecialTokens special)
      : special_(std::move(special)), bytes_(std::move(bytes)), has_own_ids_(!ids) {
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
  }

  // A language mark of Marian, ">>de<<" in front of the text, is one token.
  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> out;
    if (const size_t end = text.starts_with(">>") ? text.find("<<") : std::string_view::npos;
        end != std::string_view::npos) {
      const auto mark = ids_.find(text.substr(0, end + 2));
      if (mark != ids_.end()) {
        out.push_back(mark->second);
        text.remove_prefix(end + 2);
      }
    }
    std::vector<std::string> pieces;
    const auto status = processor_.Encode(text, &pieces);
    if (!status.ok()) fail<InputError>("Tokenizer::encode", "{}", status.message());
    for (const std::string& piece : pieces) {
      const auto found = ids_.find(piece);
      out.push_back(found == ids_.end() ? special_.unk : found->second);
    }
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
      return out + "}";
    });
  }
  const SpecialTokens& special() const override { return special_; }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  SpecialTokens special_;
  std::string bytes_;
  bool has_own_ids_;
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
  for (int id = 0; id < processor.GetPieceSize(); ++id) pieces.push_back(processor.IdToPiece(id));
  return pieces;
}

std::shared_ptr<const TokenizerModel> make_piece_tokenizer(std::string bytes, const std::string& name,
                                                           std::optional<PieceIds> ids, SpecialTokens special) {
  return std::make_shared<PieceModel>(std::move(bytes), name, std::move(ids), std::move(special));
}

}  // namespace qkv
