// Sentences to token ids and back, by SentencePiece (Kudo and Richardson, 2018): pieces of words found in the
// corpus itself, by a unigram language model (Kudo, 2018) or by byte-pair merges (Sennrich et al., 2016), or single
// characters.
//
//     Tokenizer tokenizer = Tokenizer::train(sentences, {.vocabulary_size = 8000});
//     std::vector<int32_t> ids = tokenizer.encode("I am cold.");        // no bos, no eos
//     std::string text = tokenizer.decode(ids);                         // "I am cold."
//     tokenizer.save("model/source.model");                             // a file that SentencePiece reads, too
//
// The ids of the four special tokens are the same in every vocabulary: pad 0, bos 1, eos 2, unk 3.
//
// What decode(encode(text)) gives back. By default the text normalised by NFKC (ligatures, full-width letters, the
// ellipsis character become plain letters and points; control characters vanish) with runs of white space as one
// space and none at the ends, and unknown characters (those beyond the coverage) as U+2047. With .lossless the very
// same text, whatever valid UTF-8 it is, but for U+2581, which SentencePiece uses for the space, and turns into
// one. Bytes that are not UTF-8 become U+FFFD. Text never becomes a special token, even if it looks like one
// ("</s>").
//
// The same sentences and options give the same model, byte for byte, on any number of threads.
// A Tokenizer is a value, cheap to copy, never changed, and may be used by several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/base/threads.h"

namespace qkv {

enum class TokenizerType { unigram, bpe, character };
constexpr auto names_of(TokenizerType) {
  return std::array{Named{TokenizerType::unigram, "unigram"}, Named{TokenizerType::bpe, "bpe"},
                    Named{TokenizerType::character, "character"}};
}

struct TokenizerOptions {
  TokenizerType type = TokenizerType::unigram;
  // At most. A small corpus gives fewer, size() says how many; UsageError when not even its characters have room
  // (a vocabulary of characters takes the most frequent ones).
  int64_t vocabulary_size = 8000;
  // Share of the corpus's characters that are in the vocabulary, 0.98 to 1; 0: every character, but in a vocabulary
  // of pieces no more of the frequent ones than fill a quarter of it.
  double character_coverage = 0;
  bool lossless =
      false;  // no normalisation, white space as it is, and 256 pieces for the bytes of unknown characters
  int64_t max_sentences = 1'000'000;  // of more, as many are drawn
  uint64_t seed = 1;                  // of the draw
};

class Tokenizer {
 public:
  static constexpr int32_t pad = 0, bos = 1, eos = 2, unk = 3;

  // next() puts a sentence into its argument, or returns false at the end. Blank sentences are passed over, and
  // long ones cut into pieces of at most 4 KiB, between words if possible; InputError if there are no others.
  static Tokenizer train(FunctionRef<bool(std::string&)> next, const TokenizerOptions& options = {});
  static Tokenizer train(const std::vector<std::string>& sentences, const TokenizerOptions& options = {});

  // InputError naming the file if it is not a SentencePiece model with the four special ids. name is what errors
  // call it. `checksum`, where it is known, is what checksum() was of the vocabulary that is expected.
  static Tokenizer load(const std::filesystem::path& path, std::string_view checksum = {});
  static Tokenizer from_serialized(std::string bytes, const std::string& name = "tokenizer");
  void save(const std::filesystem::path& path) const;
  const std::string& serialized() const;
  std::string checksum() const;  // of the bytes of its file, hexadecimal

  // Without pieces for bytes, more than 16 KiB are encoded part by part, cut between words if possible.
  std::vector<int32_t> encode(std::string_view text) const;
  std::string decode(
      std::span<const int32_t> ids) const;     // special tokens but unk are left out; Error for an id outside
  const std::string& piece(int32_t id) const;  // U+2581 stands for a space
  int64_t size() const;

 private:
  struct Model;
  explicit Tokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  std::shared_ptr<const Model> model_;
};

}  // namespace qkv
