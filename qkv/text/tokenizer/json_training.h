// Training of the tokenizers that tokenizer.json describes: byte-level BPE (Radford et al., "Language Models are
// Unsupervised Multitask Learners", 2019, section 2.2) and WordPiece (Schuster and Nakajima, "Japanese and Korean voice
// search", 2012; its pieces are merged by count here, as by other open implementations).
//
//     auto model = train_byte_bpe(sentences, 8000);     // GPT-2's words; round-trips any text
//     auto model = train_word_piece(sentences, 8000);   // BERT's words, cased; other characters are unknown
//
// The first ids are pad, bos, eos, unk, and for WordPiece the mask. Bytes that are not UTF-8 count as U+FFFD. The same
// sentences give the same tokens. Errors: UsageError for a vocabulary that is smaller than the alphabet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "qkv/text/tokenizer_model.h"

namespace qkv {

std::shared_ptr<const TokenizerModel> train_byte_bpe(const std::vector<std::string>& sentences,
                                                     int64_t vocabulary_size);
// coverage: the fraction of the characters of words that the alphabet covers with the most frequent ones; 0: all
// characters, but at most as many as fill a quarter of the vocabulary (each may occur twice, at the beginning of a word
// and inside).
std::shared_ptr<const TokenizerModel> train_word_piece(const std::vector<std::string>& sentences,
                                                       int64_t vocabulary_size, double coverage);

}  // namespace qkv
