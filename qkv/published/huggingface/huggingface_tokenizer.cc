// Tokenizers in folders of Hugging Face, by the files that they have.
#include "qkv/base/file.h"
#include "qkv/published/huggingface/folder_settings.h"
#include "qkv/published/huggingface/hf_config.h"
#include "qkv/published/huggingface/huggingface_folder.h"
#include "qkv/published/huggingface/tokenizer_files.h"
#include "qkv/published/word_vocabulary.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

Tokenizer json_tokenizer(std::string json, const fs::path& file, const FolderSettings& settings) {
  return Tokenizer(make_json_tokenizer(
      std::move(json), file.string(), settings.special_tokens(),
      {.mask = settings.token("mask_token"), .unk = settings.token("unk_token"), .takes_frame = true}));
}

Tokenizer marian_pieces(const fs::path& folder, TokenizerSide side, const FolderSettings& settings) {
  const bool is_source = side == TokenizerSide::source;
  const fs::path own = folder / "target_vocab.json";
  PieceIds ids = read_ids(!is_source && file_exists(own) ? own : folder / "vocab.json");
  SpecialTokens special = settings.special_tokens();
  const auto unknown = ids.find("<unk>");
  require<InputError>(unknown != ids.end(), (folder / "vocab.json").string(), "there is no <unk>");
  special.unk = unknown->second;
  special.frame = TextFrame{.after = {special.eos}};
  const fs::path file = folder / (is_source ? "source.spm" : "target.spm");
  return Tokenizer(make_piece_tokenizer(read_file(file, largest_vocabulary_file), file.string(), ids, special));
}

Tokenizer fairseq_pieces(const fs::path& folder, const FolderSettings& settings, const HfConfig& config) {
  const std::string type = config.model_type();
  const bool is_translator = type == "m2m_100";
  if (!is_translator && type != "xlm-roberta")
    config.refuse("model_type",
                  "its sentencepiece.bpe.model is read for m2m_100 and xlm-roberta; a tokenizer.json, for all");
  FairseqSettings of_folder;
  of_folder.has_languages = is_translator && file_exists(folder / "vocab.json");
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    for (const std::string& token : settings.tokens(key)) of_folder.added.push_back(token);
  if (const std::string mask = settings.token("mask_token"); !mask.empty()) of_folder.added.push_back(mask);
  if (is_translator) of_folder.source_language = settings.token("src_lang");
  if (is_translator && of_folder.source_language.empty())
    of_folder.source_language = of_folder.has_languages ? "en" : "eng_Latn";
  return fairseq_tokenizer(folder, settings.special_tokens(), of_folder);
}

}  // namespace

Tokenizer huggingface_tokenizer(const fs::path& folder, TokenizerSide side, int64_t rows) {
  const FolderSettings settings(folder, rows);
  const auto has = [&](const char* name) { return file_exists(folder / name); };
  if (has("tokenizer.json")) {
    const fs::path file = folder / "tokenizer.json";
    return json_tokenizer(read_file(file, largest_vocabulary_file), file, settings);
  }
  if (has("source.spm") && has("target.spm") && has("vocab.json")) return marian_pieces(folder, side, settings);
  const fs::path config = folder / "config.json";
  const auto read_config = [&] { return HfConfig(read_file(config, JsonLimits{}.bytes), config.string()); };
  if (has("sentencepiece.bpe.model")) return fairseq_pieces(folder, settings, read_config());
  if (has("vocab.json") && has("merges.txt"))
    return json_tokenizer(json_of_byte_level_bpe(folder, settings), folder / "vocab.json", settings);
  if (has("vocab.txt")) return json_tokenizer(json_of_word_piece(folder, settings), folder / "vocab.txt", settings);
  for (const char* name : {"tokenizer.model", "spiece.model"})
    if (has(name)) return piece_tokenizer(folder / name, settings);
  fail<InputError>(
      folder.string(),
      "there is no tokenizer: no tokenizer.json, vocab.json with merges.txt, vocab.txt or SentencePiece "
      "model");
}

}  // namespace qkv
