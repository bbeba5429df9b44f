#include "qkv/text/tokenizer/json_training.h"

#include <algorithm>

#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer.h"
#include "qkv/text/tokenizer/byte_alphabet.h"
#include "qkv/text/tokenizer/merge_training.h"
#include "qkv/text/tokenizer/normalizer.h"
#include "qkv/text/tokenizer/pre_tokenizer.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"
#include "qkv/text/tokenizer/token_decoder.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

constexpr const char* trained_name = "trained tokenizer";

Json added_tokens(const std::vector<std::string>& reserved) {
  Json list = Json::array();
  for (size_t id = 0; id < reserved.size(); ++id)
    list.push_back({{"id", id},
                    {"content", reserved[id]},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  return list;
}

// The pieces that the model of the tokenizer gets, and their counts.
WordCounts count_words(const std::vector<std::string>& sentences, const Json& tokenizer) {
  const JsonFields fields(tokenizer, trained_name);
  const TextNormalizerPtr normalizer =
      fields.has("normalizer") ? read_normalizer(fields.object("normalizer")) : nullptr;
  const PreTokenizerPtr pre_tokenizer = read_pre_tokenizer(fields.object("pre_tokenizer"));
  WordCounts counts;
  for (const std::string& sentence : sentences) {
    AlignedText text(valid_utf8(sentence), 0);
    if (normalizer) normalizer->apply(text);
    PreTokenized pieces(std::move(text));
    pre_tokenizer->apply(pieces);
    for (const TextRange piece : pieces.pieces()) {
      const std::string_view word = pieces.text().part(piece);
      const auto found = counts.find(word);
      if (found != counts.end())
        ++found->second;
      else
        counts.emplace(word, 1);
    }
  }
  return counts;
}

// The most frequent characters of the words: a fraction `coverage` of all, or, if that is 0, at most as many as fit.
std::vector<std::string> alphabet_of(const WordCounts& words, double coverage, int64_t fit) {
  std::map<std::string, int64_t, std::less<>> counts;
  int64_t total = 0;
  for (const auto& [word, count] : words)
    for (const char32_t c : utf8_decode(word)) {
      counts[utf8_encode({&c, 1})] += count;
      total += count;
    }
  std::vector<std::pair<std::string, int64_t>> descending(counts.begin(), counts.end());
  std::stable_sort(descending.begin(), descending.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> alphabet;
  int64_t covered = 0;
  for (const auto& [c, count] : descending) {
    const bool full = coverage == 0 ? std::ssize(alphabet) >= fit
                                    : static_cast<double>(covered) >= coverage * static_cast<double>(total);
    if (full) break;
    alphabet.push_back(c);
    covered += count;
  }
  return alphabet;
}

Json vocabulary_of(const MergeTraining& trained) {
  Json ids = Json::object();
  for (size_t id = 0; id < trained.tokens.size(); ++id) ids.append(trained.tokens[id], id);
  return ids;
}

}  // namespace

std::shared_ptr<const TokenizerModel> train_byte_bpe(const std::vector<std::string>& sentences,
                                                     int64_t vocabulary_size) {
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  MergeTrainingOptions options{.vocabulary_size = vocabulary_size, .reserved = {"<pad>", "<s>", "</s>", "<unk>"}};
  for (int byte = 0; byte < 256; ++byte)
    options.alphabet.push_back(character_of_byte(static_cast<unsigned char>(byte)));
  Json tokenizer = {{"version", "1.0"},
                    {"added_tokens", added_tokens(options.reserved)},
                    {"pre_tokenizer", byte_level},
                    {"decoder", byte_level}};
  const MergeTraining trained = train_merges(count_words(sentences, tokenizer), options);
  Json merges = Json::array();
  for (const auto& [first, second] : trained.merges)
    merges.push_back({trained.tokens[static_cast<size_t>(first)], trained.tokens[static_cast<size_t>(second)]});
  tokenizer["model"] = {{"type", "BPE"}, {"vocab", vocabulary_of(trained)}, {"merges", merges}};
  return make_json_tokenizer(tokenizer.dump(), trained_name, {});
}

std::shared_ptr<const TokenizerModel> train_word_piece(const std::vector<std::string>& sentences,
                                                       int64_t vocabulary_size, double coverage) {
  MergeTrainingOptions options{.vocabulary_size = vocabulary_size,
                               .reserved = {"[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"},
                               .prefix = "##"};
  Json tokenizer = {{"version", "1.0"},
                    {"added_tokens", added_tokens(options.reserved)},
                    {"normalizer",
                     {{"type", "BertNormalizer"},
                      {"clean_text", true},
                      {"handle_chinese_chars", true},
                      {"strip_accents", false},
                      {"lowercase", false}}},
                    {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                    {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}}};
  const WordCounts words = count_words(sentences, tokenizer);
  options.alphabet = alphabet_of(words, coverage, vocabulary_size / 4);
  const MergeTraining trained = train_merges(words, options);
  require<UsageError>(std::ssize(trained.tokens) <= vocabulary_size, "tokenizer",
                      "vocabulary-size {} is less than the {} characters and special tokens of the corpus",
                      vocabulary_size, trained.tokens.size());
  tokenizer["model"] = {{"type", "WordPiece"},
                        {"unk_token", "[UNK]"},
                        {"continuing_subword_prefix", "##"},
                        {"max_input_chars_per_word", 100},
                        {"vocab", vocabulary_of(trained)}};
  return make_json_tokenizer(tokenizer.dump(), trained_name, {.mask = 4, .suppressed = {0, 1, 4}});
}

}  // namespace qkv
