#include "test/damaged_folders_test/use_model.h"

#include "qkv/decode/embedder.h"
#include "qkv/decode/generation_config.h"
#include "qkv/decode/generator.h"
#include "qkv/decode/sentence_encoder.h"
#include "qkv/decode/translator.h"
#include "qkv/model/model_file.h"

namespace qkv::test {

void use_model(const std::filesystem::path& folder) {
  const std::vector<std::string> texts = {"0 1 2", "the man"};  // also for a vocabulary that has only numbers
  switch (load_config(encoder_folder(folder)).architecture) {
    case Architecture::causal: {
      ignored_by_generate(folder);
      const Generator generator(folder);
      for (const std::string& text : texts)
        generator.generate(text, {.max_tokens = 3, .sampling = {.temperature = 0}});
      break;
    }
    case Architecture::masked: Embedder(folder).embed(texts); break;
    default: {
      ignored_by_translate(folder);
      const Translator translator(folder);
      for (const std::string& text : texts) translator.translate(text, {.max_length = 3});
      break;
    }
  }
}

}  // namespace qkv::test
