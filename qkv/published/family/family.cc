#include "qkv/published/family/family.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

constexpr const Family* families[] = {
    &family::bart,       &family::bert,   &family::big_bird,   &family::bloom,       &family::camembert,
    &family::distilbert, &family::falcon, &family::gemma2,     &family::gemma3_text, &family::gpt2,
    &family::gpt_neox,   &family::llama,  &family::longformer, &family::m2m_100,     &family::marian,
    &family::mistral,    &family::mpnet,  &family::mt5,        &family::opt,         &family::pegasus,
    &family::phi3,       &family::qwen2,  &family::qwen3,      &family::roberta,     &family::t5,
    &family::xlm_roberta};

}  // namespace

const Family& family_of(const HfConfig& config) {
  const std::string type = config.model_type();
  const auto found = std::find_if(std::begin(families), std::end(families),
                                  [&](const Family* family) { return family->model_type == type; });
  if (found != std::end(families)) return **found;
  fail<InputError>(config.file(), "models of type {} are not supported, only {}", quoted_name(type),
                   name_list(family_names()));
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const Family* family : families) names.push_back(family->model_type);
  return names;
}

TransformerConfig causal_config(const HfConfig& hf) {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = hf.count("vocab_size");
  c.d_model = hf.count({"hidden_size", "n_embd", "n_embed"});
  c.heads = hf.count({"num_attention_heads", "n_head"});
  c.encoder_layers = c.decoder_layers = hf.count({"num_hidden_layers", "n_layer"});
  c.dropout = 0;
  c.norm_order = NormOrder::pre;
  c.positions = Positions::none;
  c.embedding_scale = 1;
  c.tie = hf.flag("tie_word_embeddings", false) ? Tie::all : Tie::none;
  return c;
}

}  // namespace qkv
