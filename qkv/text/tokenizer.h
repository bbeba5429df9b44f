// Tokenizer: sentences to token ids and back. Tokens are subwords trained on a corpus by a unigram language model
// (Kudo, 2018) or byte-pair encoding (BPE, Sennrich et al., 2016), or characters, by SentencePiece (Kudo and
// Richardson, 2018); or the byte-level BPE of GPT-2 (Radford et al., 2019) or BERT's WordPiece
// (tokenizer/json_training.h).
//
//     Tokenizer tokenizer = Tokenizer::train(sentences, {.vocabulary_size = 8000});
//     std::vector<int32_t> ids = tokenizer.encode("I am cold.");        // no bos, no eos
//     std::string text = tokenizer.decode(ids);                         // "I am cold."
//     tokenizer.save("model/source.model");      // a SentencePiece model; JSON for byte-level BPE and WordPiece
//
// The ids of the four special tokens are the same in every vocabulary that is trained here: pad 0, bos 1, eos 2, unk 3.
// In published models (published/model_folder.h) they are data: special().
//
// decode(encode(text)) is by default the text normalised by NFKC (ligatures, full-width letters and the ellipsis
// character become plain letters and dots; control characters are removed) with white space collapsed and trimmed,
// and unknown characters (outside the vocabulary) as U+2047. With .lossless it is the same text for any valid UTF-8:
// byte fallback encodes unknown characters as their bytes. Only U+2581, SentencePiece's space, becomes a space.
// Byte-level BPE round-trips any text. WordPiece joins words with single spaces and no space before punctuation. Bytes
// that are not UTF-8 become U+FFFD. Text never becomes a special token, even if it looks like one ("</s>"), unless
// .parse_special.
//
// The same sentences and options give the same model, byte for byte, on any number of threads.
// A Tokenizer is immutable, cheap to copy, and may be used by several threads at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/base/threads.h"
#include "qkv/text/text_error.h"

namespace qkv {

enum class TokenizerType { unigram, bpe, character, byte_bpe, word_piece };
constexpr auto names_of(TokenizerType) {
  return std::array{Named{TokenizerType::unigram, "unigram"}, Named{TokenizerType::bpe, "bpe"},
                    Named{TokenizerType::character, "character"}, Named{TokenizerType::byte_bpe, "byte-bpe"},
                    Named{TokenizerType::word_piece, "wordpiece"}};
}

struct TokenizerOptions {
  TokenizerType type = TokenizerType::unigram;
  // The maximum. A small corpus gives fewer tokens, see size(); UsageError when it is less than the characters of the
  // corpus need (a vocabulary of characters takes the most frequent ones).
  int64_t vocabulary_size = 8000;
  // Fraction of the corpus's characters that are in the vocabulary, 0.98 to 1; 0: every character, but in a subword
  // vocabulary at most as many of the frequent ones as fill a quarter of it.
  double character_coverage = 0;
  // No normalisation, white space kept, and byte fallback: 256 tokens for the bytes of unknown characters. UsageError
  // with WordPiece; byte-level BPE is lossless anyway.
  bool lossless = false;
  int64_t max_sentences = 1'000'000;  // a larger corpus is sampled at random
  uint64_t seed = 1;                  // of the sample
};

// UsageError for a vocabulary size or coverage out of range.
void check_options(const TokenizerOptions& options);

// Tokens around a text that a model reads.
struct TextFrame {
  std::vector<int32_t> before = {}, after = {};
};

// The special tokens of a vocabulary, -1 where it has none.
struct SpecialTokens {
  int32_t pad = 0, bos = 1, eos = 2, unk = 3;  // bos: what a decoder begins with
  int32_t mask = -1;
  std::vector<int32_t> ends = {2};           // tokens that end an answer, eos among them
  std::vector<int32_t> suppressed = {0, 1};  // never generated
  std::vector<int32_t> added = {};           // never text: languages, if the file does not mark them
  std::optional<int32_t> forced_first = {};  // the first token of every answer
  std::optional<TextFrame> frame = {};       // none: Tokenizer::frame() makes it of bos and eos
  int64_t rows =
      0;  // number of ids of the model, if its vocabulary does not say it; ids after the tokens have no text
};

struct TokenizeOptions {
  bool parse_special = false;  // "<|im_start|>" in a text is that token; for texts that are trusted
  // With parse_special, whether the special token that begins at a byte of the text is one; false: it stays text. None:
  // all are.
  std::function<bool(size_t at)> special_at = {};

  bool finds_special(size_t at) const { return parse_special && (!special_at || special_at(at)); }
};

class TokenizerModel;

class Tokenizer {
 public:
  static constexpr int32_t pad = 0, bos = 1, eos = 2, unk = 3;

  // next() puts a sentence into its argument, or returns false at the end. Blank sentences are skipped, long ones
  // divided into parts of at most 4 KiB, between words if possible. InputError if no sentence is left.
  static Tokenizer train(FunctionRef<bool(std::string&)> next, const TokenizerOptions& options = {});
  static Tokenizer train(const std::vector<std::string>& sentences, const TokenizerOptions& options = {});

  // InputError, naming the file, unless it is a SentencePiece model with the four special ids and, if `checksum` is
  // given, has that checksum(). `name` stands for the file in errors.
  static Tokenizer load(const std::filesystem::path& path, std::string_view checksum = {});
  static Tokenizer from_serialized(std::string bytes, const std::string& name = "tokenizer");
  void save(const std::filesystem::path& path) const;
  const std::string& serialized() const;
  std::string checksum() const;  // of the bytes of its file, hexadecimal

  // TextError for a text that this vocabulary cannot express.
  std::vector<int32_t> encode(std::string_view text, const TokenizeOptions& options = {}) const;
  std::string decode(std::span<const int32_t> ids) const;  // without pad, bos, eos; Error for an id out of range
  const std::string& token(int32_t id) const;              // U+2581 stands for a space
  bool is_text(int32_t id) const;   // neither a special token nor a byte: token() is a piece of text
  bool is_added(int32_t id) const;  // never the result of cutting a text: special, added, or a language
  float score(int32_t id) const;    // of BPE: the higher, the earlier it is merged; of unigram: a log probability
  int64_t size() const;             // ids that the model has
  int64_t token_count() const;  // of the vocabulary: the model may have more ids, or fewer (without the last ones)
  const SpecialTokens& special() const;
  // The tokens around a text that a model reads: those that the vocabulary names, else bos and eos where the model has
  // them.
  TextFrame frame(bool has_bos, bool has_eos) const;
  // The token between two documents in the training of a causal model; -1: a published model, which may have had none.
  int32_t document_end() const;
  // The mask of a masked model: a token of the vocabulary, or, if the vocabulary has none and decides the rows of
  // the model, the id after the last token. -1: the model has no mask.
  int32_t mask_id() const;
  // The rows of the embedding of a model that reads this vocabulary, the mask's among them if `is_masked`.
  int64_t rows(bool is_masked) const;
  std::optional<int32_t> id_of(std::string_view token) const;
  // The tokens of a text with the mask in place of each `marker`; none if special().mask is not a token of its own.
  std::optional<std::vector<int32_t>> encode_masked(std::string_view text, std::string_view marker) const;

  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model) : model_(std::move(model)) {}

 private:
  bool is_spare(int32_t id) const;
  void check_rows(std::span<const int32_t> ids) const;
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace qkv
