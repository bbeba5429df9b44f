// What a SentencePiece model file says, for formats that store it in parts. The file is one that SentencePiece has loaded.
//
//     const SentencePieceFile file = read_sentencepiece(bytes);
//     file.pieces[3].text, file.settings.bpe
#pragma once

#include <string_view>
#include <vector>

#include "qkv/published/gguf/sentencepiece_writer.h"

namespace qkv {

struct SentencePieceFile {
  std::vector<Piece> pieces;
  SentencePieceSettings settings;
  bool is_subword = true;  // unigram or BPE; else words or characters
};
SentencePieceFile read_sentencepiece(std::string_view bytes);

}  // namespace qkv
