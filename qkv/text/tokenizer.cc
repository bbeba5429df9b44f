#include "qkv/text/tokenizer.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "qkv/base/checksum.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/on_demand.h"
#include "qkv/base/random.h"
#include "qkv/text/sentencepiece_check.h"
#include "qkv/text/tokenizer/added_tokens.h"
#include "qkv/text/tokenizer/json_training.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"
#include "qkv/text/tokenizer/unknown_runs.h"
#include "qkv/text/tokenizer_model.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

namespace {

// All sentences, or a uniform sample of max_sentences of them (Vitter's algorithm R, 1985).
std::vector<std::string> draw(FunctionRef<bool(std::string&)> next, const TokenizerOptions& options) {
  std::vector<std::string> drawn;
  Random random(options.seed, mix(0x746f6b656e, 0));
  uint64_t seen = 0;
  for (std::string sentence; next(sentence);) {
    if (is_blank(sentence)) continue;  // SentencePiece aborts on a corpus of blank sentences
    ++seen;
    if (drawn.size() < static_cast<size_t>(options.max_sentences)) {
      drawn.push_back(sentence);
    } else if (const uint64_t at = random.below(seen); at < drawn.size()) {
      drawn[at] = sentence;
    }
  }
  return drawn;
}

// The size of the first part of a text: at most `limit` bytes, up to the last white space, else to the last complete
// character.
size_t part_size(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text.size();
  size_t whole = 0, words = 0;
  for (size_t at = 0; at < limit;) {
    const auto [bytes, value] = utf8_first(text.substr(at));
    at += std::max<size_t>(bytes, 1);
    if (at <= limit) whole = at;
    if (at <= limit && is_space(value)) words = at;
  }
  return words > 0 ? words : whole;
}

// SentencePiece takes quadratic time in the length of a word, and aborts on one of 64 Ki characters.
std::vector<std::string> cut_long(std::vector<std::string> sentences) {
  constexpr size_t max_bytes = 4096;
  for (size_t i = 0, count = sentences.size(); i < count; ++i) {
    if (sentences[i].size() <= max_bytes) continue;
    const std::string whole = std::move(sentences[i]);
    std::string_view rest = whole;
    for (bool first = true; !rest.empty(); first = false) {
      const std::string part(rest.substr(0, part_size(rest, max_bytes)));
      rest.remove_prefix(part.size());
      if (first) {
        sentences[i] = part;
      } else if (!is_blank(part)) {
        sentences.push_back(part);
      }
    }
  }
  return sentences;
}

class Sentences final : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& sentences) : sentences_(sentences) {}
  bool done() const override { return at_ == sentences_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return sentences_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& sentences_;
  size_t at_ = 0;
};

constexpr double min_coverage = 0.98;  // SentencePiece accepts no less

// The fraction of the text made up by the most frequent characters, as many as fit. European languages have few
// enough for all: at SentencePiece's default of 0.9995 the text of an English-French corpus, encoded and decoded
// again, has 99 BLEU.
double coverage(const std::vector<std::string>& sentences, const TokenizerOptions& options) {
  if (options.character_coverage != 0) return options.character_coverage;
  std::unordered_map<char32_t, int64_t> counts;
  for (const std::string& sentence : sentences)
    for (const char32_t c : utf8_decode(sentence)) ++counts[c];
  std::vector<int64_t> descending;
  descending.reserve(counts.size());
  for (const auto& [c, count] : counts) descending.push_back(count);
  std::sort(descending.begin(), descending.end(), std::greater());
  const int64_t room =
      options.type == TokenizerType::character ? options.vocabulary_size : options.vocabulary_size / 4;
  const auto fitting = static_cast<size_t>(room);
  if (descending.size() <= fitting) return 1.0;
  const auto sum = [&](size_t n) {
    return static_cast<double>(
        std::accumulate(descending.begin(), descending.begin() + static_cast<int64_t>(n), int64_t{0}));
  };
  return std::max(min_coverage, sum(fitting) / sum(descending.size()));
}

std::unordered_map<std::string, std::string> trainer_arguments(const std::vector<std::string>& sentences,
                                                               const TokenizerOptions& options) {
  std::unordered_map<std::string, std::string> arguments{
      {"model_type", options.type == TokenizerType::character ? "char" : std::string(name_of(options.type))},
      {"vocab_size", fmt::format("{}", options.vocabulary_size)},
      {"character_coverage", fmt::format("{}", coverage(sentences, options))},
      {"pad_id", fmt::format("{}", Tokenizer::pad)},
      {"bos_id", fmt::format("{}", Tokenizer::bos)},
      {"eos_id", fmt::format("{}", Tokenizer::eos)},
      {"unk_id", fmt::format("{}", Tokenizer::unk)},
      {"hard_vocab_limit", "false"},
      {"max_sentence_length", "1000000"},
      {"num_threads", "16"},  // its sums depend on the number of threads: a constant makes them deterministic
      {"minloglevel", "2"},
  };
  if (options.lossless) {
    arguments.insert({{"normalization_rule_name", "identity"},
                      {"remove_extra_whitespaces", "false"},
                      {"byte_fallback", "true"}});
  }
  return arguments;
}

[[noreturn]] void explain(std::string_view message, const TokenizerOptions& options) {
  constexpr std::string_view small = "Vocabulary size is smaller than required_chars";
  if (message.find(small) == message.npos) fail<InputError>("tokenizer", "training failed: {}", message);
  const std::string_view versus = message.substr(message.rfind(" vs ") + 4);
  fail<UsageError>("tokenizer",
                   "vocabulary-size {} is less than the {} characters and special tokens of the corpus",
                   options.vocabulary_size, versus.substr(0, versus.find_first_not_of("0123456789")));
}

std::string checksum_of(std::string_view bytes) { return fmt::format("{:08x}", crc32(bytes)); }

}  // namespace

void check_options(const TokenizerOptions& options) {
  const bool has_bytes = options.lossless || options.type == TokenizerType::byte_bpe;
  const int64_t minimum = Tokenizer::unk + 2 + (has_bytes ? 256 : 0);
  require<UsageError>(options.vocabulary_size >= minimum && options.vocabulary_size <= 10'000'000, "tokenizer",
                      "vocabulary-size must be {} to 10000000, got {}", minimum, options.vocabulary_size);
  const double coverage = options.character_coverage;
  require<UsageError>(coverage == 0 || (coverage >= min_coverage && coverage <= 1), "tokenizer",
                      "character-coverage must be {} to 1, or 0 for as many characters as fit, got {}",
                      min_coverage, coverage);
  require<UsageError>(!options.lossless || options.type != TokenizerType::word_piece, "tokenizer",
                      "a wordpiece vocabulary cannot be lossless: it loses white space; byte-bpe keeps all");
  require<UsageError>(options.max_sentences >= 1, "tokenizer", "max-sentences must be at least 1, got {}",
                      options.max_sentences);
}

Tokenizer Tokenizer::train(FunctionRef<bool(std::string&)> next, const TokenizerOptions& options) {
  check_options(options);
  const std::vector<std::string> drawn = cut_long(draw(next, options));
  require<InputError>(!drawn.empty(), "tokenizer", "no sentences to train on: all are blank");
  if (options.type == TokenizerType::byte_bpe) return Tokenizer(train_byte_bpe(drawn, options.vocabulary_size));
  if (options.type == TokenizerType::word_piece)
    return Tokenizer(train_word_piece(drawn, options.vocabulary_size, options.character_coverage));
  Sentences sentences(drawn);
  std::string bytes;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(trainer_arguments(drawn, options), &sentences, &bytes);
  if (!status.ok()) explain(status.message(), options);
  return from_serialized(std::move(bytes));
}

Tokenizer Tokenizer::train(const std::vector<std::string>& sentences, const TokenizerOptions& options) {
  size_t at = 0;
  const auto next = [&](std::string& sentence) {
    if (at == sentences.size()) return false;
    sentence = sentences[at++];
    return true;
  };
  return train(next, options);
}

Tokenizer Tokenizer::load(const std::filesystem::path& path, std::string_view checksum) {
  constexpr size_t max_bytes = size_t{1} << 28;  // ten million tokens of 26 bytes
  std::string bytes = read_file(path, max_bytes);
  require<InputError>(
      checksum.empty() || checksum_of(bytes) == checksum, path.string(),
      "this is not the vocabulary that the model was trained with, or it is damaged: its checksum is "
      "{}, expected {}",
      checksum_of(bytes), checksum);
  return from_serialized(std::move(bytes), path.string());
}

namespace {

class SentencePieceModel final : public TokenizerModel {
 public:
  SentencePieceModel(std::string bytes, const std::string& name) : bytes_(std::move(bytes)) {
    if (const auto wrong = sentencepiece_error(bytes_))
      fail<InputError>(name, "not a SentencePiece model: {}", *wrong);
    const auto status = processor_.LoadFromSerializedProto(bytes_);
    if (!status.ok()) fail<InputError>(name, "not a SentencePiece model: {}", one_line(status.message()));
    const auto& p = processor_;
    constexpr int32_t pad = Tokenizer::pad, bos = Tokenizer::bos, eos = Tokenizer::eos, unk = Tokenizer::unk;
    require<InputError>(p.pad_id() == pad && p.bos_id() == bos && p.eos_id() == eos && p.unk_id() == unk, name,
                        "its special ids are pad {} bos {} eos {} unk {}, expected {} {} {} {}", p.pad_id(),
                        p.bos_id(), p.eos_id(), p.unk_id(), pad, bos, eos, unk);
    std::vector<AddedToken> special;
    for (int id = 0; id < p.GetPieceSize(); ++id)
      if (p.IsControl(id)) special.push_back({.id = id, .content = p.IdToPiece(id), .special = true});
    added_ = AddedTokens(std::move(special));
  }

  std::vector<int32_t> encode(std::string_view text, const TokenizeOptions& options) const override {
    if (!options.parse_special) return encode_text(text);
    std::vector<int32_t> out;
    added_.for_each(
        text, [&](const AddedToken&, size_t at) { return options.finds_special(at); },
        [&](TextRange range, int32_t id) {
          if (id >= 0) return out.push_back(id);
          const std::vector<int32_t> ids = encode_text(text.substr(range.begin, range.end - range.begin));
          out.insert(out.end(), ids.begin(), ids.end());
        });
    return out;
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    const auto status = processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
    if (!status.ok()) fail("Tokenizer::decode", "{}", status.message());
    return text;
  }
  const std::string& token(int32_t id) const override { return processor_.IdToPiece(id); }
  bool is_text(int32_t id) const override {
    const auto& p = processor_;
    return !p.IsControl(id) && !p.IsUnknown(id) && !p.IsByte(id) && !p.IsUnused(id);
  }
  bool is_added(int32_t id) const override {
    return processor_.IsControl(id) || processor_.IsUnknown(id) || processor_.IsUnused(id);
  }
  float score(int32_t id) const override { return processor_.GetScore(id); }
  int64_t size() const override { return processor_.GetPieceSize(); }
  std::optional<int32_t> id_of(std::string_view token) const override {
    const int id = processor_.PieceToId(token);
    if (processor_.IdToPiece(id) != token) return {};
    return id;
  }
  const std::string& serialized() const override { return bytes_; }
  const SpecialTokens& special() const override { return special_; }

 private:
  std::vector<int32_t> encode_text(std::string_view text) const {
    const UnknownRuns& unknown =
        unknown_.get([&] { return UnknownRuns(processor_, sentencepiece_rules(bytes_), /*min_characters=*/64); });
    std::vector<int> ids;
    const auto status = processor_.Encode(unknown.shortened(text), &ids);
    if (!status.ok()) fail<TextError>("Tokenizer::encode", "{}", status.message());
    return ids;
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::string bytes_;
  SpecialTokens special_;
  AddedTokens added_;
  OnDemand<UnknownRuns> unknown_;
};

void check_id(const char* op, int32_t id, int64_t size) {
  require(id >= 0 && id < size, op, "id {} is outside the vocabulary of {}", id, size);
}

}  // namespace

Tokenizer Tokenizer::from_serialized(std::string bytes, const std::string& name) {
  if (is_stored_tokenizer(bytes)) return Tokenizer(parse_stored_tokenizer(bytes, name));
  return Tokenizer(std::make_shared<SentencePieceModel>(std::move(bytes), name));
}

void Tokenizer::save(const std::filesystem::path& path) const { write_file(path, serialized()); }
const std::string& Tokenizer::serialized() const { return model_->serialized(); }
std::string Tokenizer::checksum() const { return checksum_of(serialized()); }
std::vector<int32_t> Tokenizer::encode(std::string_view text, const TokenizeOptions& options) const {
  std::vector<int32_t> ids = model_->encode(text, options);
  check_rows(ids);
  return ids;
}

// A vocabulary may have more tokens than the model has rows: added tokens that the model never learned.
void Tokenizer::check_rows(std::span<const int32_t> ids) const {
  if (model_->size() <= size()) return;
  for (const int32_t id : ids)
    require<InputError>(id < size(), "Tokenizer::encode",
                        "the model has {} rows, and none for the token {} with id {}", size(),
                        quoted_name(model_->token(id)), id);
}

// A published model may have more rows than its vocabulary has tokens.
bool Tokenizer::is_spare(int32_t id) const { return id >= model_->size() && id < size(); }

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  if (std::any_of(ids.begin(), ids.end(), [&](int32_t id) { return is_spare(id); })) {
    std::vector<int32_t> known;
    for (const int32_t id : ids)
      if (!is_spare(id)) known.push_back(id);
    return decode(known);
  }
  for (size_t i = 0; i < ids.size(); ++i)
    require(ids[i] >= 0 && ids[i] < size(), "Tokenizer::decode",
            "id {} at position {} is outside the vocabulary of {}", ids[i], i, size());
  return model_->decode(ids);
}

const std::string& Tokenizer::token(int32_t id) const {
  static const std::string none;
  if (is_spare(id)) return none;
  check_id("Tokenizer::token", id, size());
  return model_->token(id);
}

bool Tokenizer::is_text(int32_t id) const {
  if (is_spare(id)) return false;
  check_id("Tokenizer::is_text", id, std::max(size(), token_count()));
  return model_->is_text(id);
}

bool Tokenizer::is_added(int32_t id) const {
  if (is_spare(id)) return false;
  check_id("Tokenizer::is_added", id, std::max(size(), token_count()));
  return model_->is_added(id);
}

float Tokenizer::score(int32_t id) const {
  check_id("Tokenizer::score", id, size());
  return model_->score(id);
}

int64_t Tokenizer::size() const { return special().rows > 0 ? special().rows : model_->size(); }
int64_t Tokenizer::token_count() const { return model_->size(); }
const SpecialTokens& Tokenizer::special() const { return model_->special(); }

int32_t Tokenizer::mask_id() const {
  if (special().mask >= 0 || special().rows > 0) return special().mask;
  return static_cast<int32_t>(size());
}

TextFrame Tokenizer::frame(bool has_bos, bool has_eos) const {
  if (special().frame) return *special().frame;
  TextFrame frame;
  if (has_bos) frame.before = {special().bos};
  if (has_eos) frame.after = {special().eos};
  return frame;
}

int32_t Tokenizer::document_end() const { return special().rows > 0 ? -1 : special().eos; }
int64_t Tokenizer::rows(bool is_masked) const { return is_masked && mask_id() == size() ? size() + 1 : size(); }

std::optional<int32_t> Tokenizer::id_of(std::string_view token) const { return model_->id_of(token); }

std::optional<std::vector<int32_t>> Tokenizer::encode_masked(std::string_view text, std::string_view marker) const {
  std::optional<std::vector<int32_t>> ids = model_->encode_masked(text, marker);
  if (ids) check_rows(*ids);
  return ids;
}

}  // namespace qkv
