// One file of a folder of Hugging Face or sentence-transformers: what is read of it is used, or refused.
#include "fuzz/folder.h"
#include "fuzz/input.h"
#include "qkv/published/load_model.h"
#include "test/damaged_folders/use_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace qkv;
  using fuzz::copy_of;
  static const fuzz::FolderFile files[] = {
      {copy_of("gpt2"), "config.json"},                                    // a
      {copy_of("gpt2"), "generation_config.json"},                         // b
      {copy_of("gpt2"), "tokenizer_config.json"},                          // c
      {copy_of("gpt2"), "special_tokens_map.json"},                        // d
      {copy_of("gpt2"), "added_tokens.json", {"tokenizer.json"}},          // e
      {copy_of("gpt2"), "vocab.json", {"tokenizer.json"}},                 // f
      {copy_of("gpt2"), "merges.txt", {"tokenizer.json"}},                 // g
      {copy_of("gpt2"), "tokenizer.json", {"vocab.json", "merges.txt"}},   // h
      {copy_of("bert"), "vocab.txt", {"tokenizer.json"}},                  // i
      {copy_of("minilm"), "modules.json"},                                 // j
      {copy_of("minilm"), "1_Pooling/config.json"},                        // k
      {copy_of("minilm"), "sentence_bert_config.json"},                    // l
      {copy_of("minilm"), "config_sentence_transformers.json"},            // m
      {copy_of("marian"), "vocab.json"},                                   // n
      {copy_of("marian"), "source.spm"},                                   // o
      {copy_of("xlm-roberta"), "sentencepiece.bpe.model"},                 // p
      {copy_of("m2m100"), "sentencepiece.bpe.model", {"tokenizer.json"}},  // q
      {copy_of("llama"), "tokenizer.model", {"tokenizer.json"}},           // r
      {copy_of("t5"), "spiece.model", {"tokenizer.json"}},                 // s
      {copy_of("t5"), "tokenizer_config.json"},                            // t
      {copy_of("bart"), "generation_config.json"},                         // u
      {copy_of("t5-sharded"), "model.safetensors.index.json"},             // v: has no tokenizer
  };
  fuzz::with_one_file(files, data, size, [](const std::filesystem::path& folder) {
    fuzz::accepted([&] { read_model(folder); });
    fuzz::accepted([&] { test::use_model(folder); });
  });
  return 0;
}
