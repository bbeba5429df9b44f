#include "test/damaged_folders/model_folders.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "qkv/model/causal.h"
#include "qkv/model/masked.h"
#include "qkv/model/model_file.h"
#include "qkv/model/transformer.h"
#include "qkv/test_support/scratch_folder.h"
#include "qkv/text/tokenizer.h"
#include "test/damaged_folders/tiny_folders.h"

namespace qkv::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> training_sentences() {
  std::vector<std::string> sentences;
  for (const char* who : {"The cat", "A dog", "My old friend"})
    for (const char* does : {"sees", "buys", "has"})
      for (const char* what : {"a small house.", "the green tree.", "nothing at all."})
        sentences.push_back(fmt::format("{} {} {}", who, does, what));
  return sentences;
}

TransformerConfig tiny_config(Architecture architecture) {
  TransformerConfig config;
  config.architecture = architecture;
  config.d_model = 16;
  config.heads = 2;
  config.ffn = 32;
  config.encoder_layers = config.decoder_layers = 1;
  config.max_positions = 64;
  config.self_attention = SlidingWindow{8} + Softcap{20};
  return config;
}

void write_translation_model(const fs::path& folder) {
  const std::vector<std::string> sentences = training_sentences();
  const Tokenizer source = Tokenizer::train(sentences, {.vocabulary_size = 60});
  const Tokenizer target =
      Tokenizer::train(sentences, {.type = TokenizerType::bpe, .vocabulary_size = 320, .lossless = true});
  TransformerConfig config = tiny_config(Architecture::encoder_decoder);
  config.source_vocabulary = source.size();
  config.target_vocabulary = target.size();
  config.tie = Tie::target;
  save_model(folder, Transformer(config, 1),
             {{"source.model", source.checksum()}, {"target.model", target.checksum()}});
  source.save(folder / "source.model");
  target.save(folder / "target.model");
}

template <class AnyModel>
void write_language_model(const fs::path& folder) {
  const Tokenizer tokenizer =
      Tokenizer::train(training_sentences(), {.type = TokenizerType::bpe, .vocabulary_size = 60});
  TransformerConfig config = tiny_config(AnyModel::architecture);
  config.source_vocabulary = tokenizer.size() + (config.architecture == Architecture::masked ? 1 : 0);
  config.target_vocabulary = config.source_vocabulary;
  save_model(folder, AnyModel(config, 1), {{"tokenizer.model", tokenizer.checksum()}});
  tokenizer.save(folder / "tokenizer.model");
}

ModelFolder made(const std::string& format, const std::string& name, void (*write)(const fs::path& folder)) {
  const ScratchFolder scratch;
  write(scratch.path());
  return {format, name, read_folder(scratch.path())};
}

std::string format_of(std::string_view checkpoint) {
  if (checkpoint.starts_with("ctranslate2")) return "ctranslate2";
  return checkpoint == "marian-npz" ? "marian" : "huggingface";
}

ModelFolder of_checkpoint(const fs::path& path) {
  ModelFolder model{format_of(path.filename().string()), path.filename().string(), read_folder(path)};
  for (const char* reference :
       {"reference.safetensors", "reference.json", "tokenizer-cases.json", "config.v4.json", "tokenizer.v4.json"})
    model.files.erase(reference);
  return model;
}

}  // namespace

std::vector<ModelFolder> model_folders() {
  std::vector<ModelFolder> models = {made("qkv", "translation", write_translation_model),
                                     made("qkv", "causal", write_language_model<CausalTransformer>),
                                     made("qkv", "masked", write_language_model<MaskedTransformer>),
                                     made("llama2c", "tiny-llama2c", write_tiny_llama2c),
                                     made("mingpt", "tiny-mingpt", write_tiny_min_gpt),
                                     made("ctranslate2", "tiny-ctranslate2", write_tiny_ctranslate2),
                                     made("marian", "tiny-marian", write_tiny_marian)};
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints"))
    if (entry.is_directory()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) models.push_back(of_checkpoint(path));
  return models;
}

}  // namespace qkv::test
