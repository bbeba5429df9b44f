#include "test/damaged_folders/use_model.h"

#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/huggingface/sentence_encoder.h"
#include "qkv/published/load_model.h"

namespace qkv::test {

void use_model(const std::filesystem::path& folder) {
  const std::string text = "the man", numbers = "0 1 2";
  switch (load_config(encoder_folder(folder)).architecture()) {
    case Architecture::causal: {
      ignored_by_generate(folder);
      const Generator generator(folder);
      const GenerateTextOptions options{.max_tokens = 3, .sampling = {.temperature = 0}};
      try {
        generator.generate(text, options);
      } catch (const RefusedTexts&) {
        generator.generate(numbers, options);  // all that the vocabulary of minGPT has
      }
      break;
    }
    case Architecture::masked: Embedder(folder).embed(std::vector<std::string>{text}); break;
    default:
      ignored_by_translate(folder);
      Translator(folder).translate(text, {.search = {.max_length = 3}});
      break;
  }
}

}  // namespace qkv::test
