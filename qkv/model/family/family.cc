#include "qkv/model/family/family.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

constexpr Family families[] = {
    {"bart", bart_config, bart_tensors},
    {"bert", bert_config, bert_tensors},
    {"big_bird", big_bird_config, big_bird_tensors},
    {"bloom", bloom_config, bloom_tensors},
    {"camembert", roberta_config, roberta_tensors},
    {"distilbert", distilbert_config, distilbert_tensors},
    {"falcon", falcon_config, falcon_tensors},
    {"gemma2", gemma2_config, gemma_tensors},
    {"gemma3_text", gemma3_config, gemma_tensors},
    {"gpt2", gpt2_config, gpt2_tensors},
    {"gpt_neox", gpt_neox_config, gpt_neox_tensors},
    {"llama", llama_config, llama_tensors},
    {"longformer", longformer_config, longformer_tensors},
    {"m2m_100", m2m_100_config, m2m_100_tensors},
    {"marian", marian_config, marian_tensors},
    {"mistral", mistral_config, llama_tensors},
    {"mpnet", mpnet_config, mpnet_tensors},
    {"mt5", mt5_config, t5_tensors},
    {"opt", opt_config, opt_tensors},
    {"pegasus", pegasus_config, pegasus_tensors},
    {"phi3", phi3_config, phi3_tensors},
    {"qwen2", qwen2_config, llama_tensors},
    {"qwen3", qwen3_config, llama_tensors},
    {"roberta", roberta_config, roberta_tensors},
    {"t5", t5_config, t5_tensors},
    {"xlm-roberta", roberta_config, roberta_tensors},
};

}  // namespace

const Family& family_of(const HfConfig& config) {
  const std::string type = config.model_type();
  const auto found = std::find_if(std::begin(families), std::end(families),
                                  [&](const Family& family) { return family.model_type == type; });
  if (found != std::end(families)) return *found;
  fail<InputError>(config.file(), "models of type {} are not supported, only {}", quoted_name(type),
                   name_list(family_names()));
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const Family& family : families) names.push_back(family.model_type);
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
