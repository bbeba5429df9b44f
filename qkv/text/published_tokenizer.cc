#include "qkv/text/published_tokenizer.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/model/family/ctranslate2.h"
#include "qkv/model/family/llama2c.h"
#include "qkv/model/family/marian_folder.h"
#include "qkv/model/family/min_gpt.h"
#include "qkv/text/published/formats.h"

namespace qkv {

namespace {

Tokenizer read(const std::filesystem::path& folder, TokenizerSide side, int64_t rows) {
  if (is_ctranslate2_folder(folder)) return ctranslate2_tokenizer(folder, side, rows);
  if (is_marian_folder(folder)) return marian_tokenizer(folder, side, rows);
  if (is_llama2c_folder(folder)) return llama2c_tokenizer(folder, side, rows);
  if (is_min_gpt_folder(folder)) return number_tokenizer(folder, side, rows);
  return huggingface_tokenizer(folder, side, rows);
}

// The tokenizer of a folder whose settings and model belong together.
void check_ids(const Tokenizer& tokenizer, int64_t rows, const std::string& where) {
  const SpecialTokens& special = tokenizer.special();
  std::vector<int32_t> ids;
  for (const std::vector<int32_t>* some :
       {&special.ends, &special.suppressed, &special.frame->before, &special.frame->after})
    ids.insert(ids.end(), some->begin(), some->end());
  for (const int32_t id : {special.pad, special.bos, special.eos, special.unk, special.mask})
    if (id != -1) ids.push_back(id);  // a vocabulary may lack it
  if (special.forced_first) ids.push_back(*special.forced_first);
  for (const int32_t id : ids)
    require<InputError>(id >= 0 && id < rows, where, "a special token has the id {}, the model has {} rows", id,
                        rows);
  // Tokens that were added without a row, such as <image_soft_token> in Gemma 3, are an error when a text contains
  // them.
  for (auto id = static_cast<int32_t>(rows); id < tokenizer.token_count(); ++id)
    require<InputError>(tokenizer.is_added(id) || !tokenizer.is_text(id), where,
                        "the vocabulary has {} tokens, the model has {}", tokenizer.token_count(), rows);
  require<InputError>(tokenizer.size() <= rows, where, "the vocabulary has {} tokens, the model has {}",
                      tokenizer.size(), rows);
}

}  // namespace

Tokenizer read_published_tokenizer(const std::filesystem::path& folder, TokenizerSide side, int64_t rows) {
  Tokenizer tokenizer = read(folder, side, rows);
  check_ids(tokenizer, rows, folder.string());
  return tokenizer;
}

}  // namespace qkv
