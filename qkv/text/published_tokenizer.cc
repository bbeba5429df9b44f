#include "qkv/text/published_tokenizer.h"

#include "qkv/model/family/ctranslate2.h"
#include "qkv/model/family/llama2c.h"
#include "qkv/model/family/marian_folder.h"
#include "qkv/model/family/min_gpt.h"
#include "qkv/text/published/formats.h"

namespace qkv {

Tokenizer read_published_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows) {
  if (is_ctranslate2_folder(folder)) return ctranslate2_tokenizer(folder, side, rows);
  if (is_marian_folder(folder)) return marian_tokenizer(folder, side, rows);
  if (is_llama2c_folder(folder)) return llama2c_tokenizer(folder, side, rows);
  if (is_min_gpt_folder(folder)) return number_tokenizer(folder, side, rows);
  return huggingface_tokenizer(folder, side, rows);
}

}  // namespace qkv
