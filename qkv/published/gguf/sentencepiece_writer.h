// A SentencePiece model file from its pieces, for the library to read: a protobuf message.
//
//     std::string bytes = sentencepiece_model({{"<unk>", 0, PieceType::unknown}, {"\u2581a", -1.5f}}, {.bpe = true});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qkv {

enum class PieceType : uint32_t { normal = 1, unknown, control, user_defined, unused, byte };

struct Piece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;
};

struct SentencePieceSettings {
  bool bpe = false;  // else unigram
  bool add_dummy_prefix = true, remove_extra_whitespaces = false;
  std::string rules = {};  // of normalisation, precompiled_charsmap
};

std::string sentencepiece_model(const std::vector<Piece>& pieces, const SentencePieceSettings& settings);

}  // namespace qkv
