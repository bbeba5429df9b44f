#include "qkv/published/published_model_folder.h"

#include "qkv/base/error.h"
#include "qkv/published/published_parameters.h"

namespace qkv {

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

PublishedModel& PublishedModelFolder::model() {
  if (!model_) model_ = read_model();
  return *model_;
}

const ModelConfig& PublishedModelFolder::config() {
  if (!config_) config_ = read_config();
  return *config_;
}

void PublishedModelFolder::read_parameters(const MakeModel& make, const StoreParameter& store) {
  read_published_parameters(model(), make, store);
  config_ = model().config;
  model_.reset();
}

Tokenizer PublishedModelFolder::tokenizer(TokenizerSide side) {
  const ModelConfig& ours = config();
  const int64_t rows = side == TokenizerSide::source ? ours.source_vocabulary() : ours.target_vocabulary();
  Tokenizer tokenizer = read_tokenizer(side, rows);
  check_ids(tokenizer, rows, path().string());
  return tokenizer;
}

}  // namespace qkv
