// BERT (Devlin et al., 2019), and two families with other names and positions: RoBERTa (Liu et al., 2019) and
// DistilBERT (Sanh et al., 2019). Sentence encoders such as MiniLM are BERTs without a head.
#include <algorithm>

#include "qkv/published/family/family.h"

namespace qkv {
namespace {

// Whether the model predicts masked tokens: BertForMaskedLM, not BertModel.
bool has_head(const HfConfig& hf) {
  const std::vector<std::string> classes = hf.texts("architectures");
  return classes.empty() || std::any_of(classes.begin(), classes.end(), [](const std::string& name) {
           return name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining");
         });
}

TransformerConfig masked_config(const HfConfig& hf) {
  TransformerConfig c;
  c.architecture = Architecture::masked;
  c.source_vocabulary = c.target_vocabulary = hf.count("vocab_size");
  c.dropout = 0;
  c.norm_order = NormOrder::post;
  c.norm_eps = 1e-12f;
  c.positions = Positions::learned;
  c.embedding_scale = 1;
  c.embedding_norm = true;
  c.head = has_head(hf);
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::none;
  return c;
}

// Queries, keys, values, their output, and the feed-forward network, as in BERT.
void bert_layers(TensorNames& names, int64_t layers, const std::string& theirs) {
  for_each_layer(layers, theirs, [&](const std::string& to, const std::string& from) {
    names.linear(to + "self_attention.query", from + "attention.self.query");
    names.linear(to + "self_attention.key", from + "attention.self.key");
    names.linear(to + "self_attention.value", from + "attention.self.value");
    names.linear(to + "self_attention.out", from + "attention.output.dense");
    names.norm(to + "norm1", from + "attention.output.LayerNorm");
    names.linear(to + "feed_forward.up", from + "intermediate.dense");
    names.linear(to + "feed_forward.down", from + "output.dense");
    names.norm(to + "norm2", from + "output.LayerNorm");
  });
}

// The bias of the logits is the bias of the linear layer. The other name is the same tensor unless nothing is tied.
void head_bias(TensorNames& names, const std::string& head, const TransformerConfig& ours) {
  std::string bias = head + ".bias", of_layer = head + ".decoder.bias";
  if (!ties_output(ours.tie)) std::swap(bias, of_layer);
  names.tensor("head.bias", bias);
  names.fallback(of_layer, bias);
}

TensorNames bert_base(const std::string& prefix, const TransformerConfig& ours) {
  TensorNames names(prefix);
  names.tensor("embedding.tokens", prefix + "embeddings.word_embeddings.weight");
  names.tensor("embedding.positions", prefix + "embeddings.position_embeddings.weight");
  names.tensor("embedding.types", prefix + "embeddings.token_type_embeddings.weight");
  names.norm("embedding.norm", prefix + "embeddings.LayerNorm");
  bert_layers(names, ours.encoder_layers, prefix + "encoder.layer.");
  for (const char* unread : {".position_ids", "pooler.dense.weight", "pooler.dense.bias"}) names.ignore(unread);
  return names;
}

TransformerConfig bert_config(const HfConfig& hf) {
  TransformerConfig c = masked_config(hf);
  if (hf.flag("is_decoder", false)) hf.refuse("is_decoder", "only encoders of this family are supported");
  if (hf.text("position_embedding_type", "absolute") != "absolute")
    hf.refuse("position_embedding_type", "only absolute positions are supported");
  c.d_model = hf.count("hidden_size");
  c.heads = hf.count("num_attention_heads");
  c.ffn = hf.count("intermediate_size");
  c.encoder_layers = c.decoder_layers = hf.count("num_hidden_layers");
  c.activation = hf.activation("hidden_act", Activation::gelu);
  c.norm_eps = static_cast<float>(hf.number("layer_norm_eps", 1e-12));
  c.max_positions = hf.count("max_position_embeddings");
  c.token_types = hf.count("type_vocab_size", 2);
  return c;
}

TensorNames bert_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names = bert_base("bert.", ours);
  names.linear("head.transform", "cls.predictions.transform.dense");
  names.norm("head.norm", "cls.predictions.transform.LayerNorm");
  names.output("cls.predictions.decoder.weight");
  head_bias(names, "cls.predictions", ours);
  for (const char* unread : {"cls.seq_relationship.weight", "cls.seq_relationship.bias"}) names.ignore(unread);
  return names;
}

// Position 0 is the row after the padding row.
TransformerConfig roberta_config(const HfConfig& hf) {
  TransformerConfig c = bert_config(hf);
  c.head_activation = Activation::gelu;
  c.position_offset = hf.index("pad_token_id", 1) + 1;
  if (c.position_offset >= c.max_positions)
    hf.refuse("max_position_embeddings", "it leaves no position after the padding position");
  c.max_positions -= c.position_offset;
  c.token_types = hf.count("type_vocab_size", 1);
  return c;
}

}  // namespace

TensorNames roberta_names(const std::string& prefix, const TransformerConfig& ours) {
  TensorNames names = bert_base(prefix, ours);
  names.linear("head.transform", "lm_head.dense");
  names.norm("head.norm", "lm_head.layer_norm");
  names.output("lm_head.decoder.weight");
  head_bias(names, "lm_head", ours);
  return names;
}

namespace {

TensorNames roberta_tensors(const HfConfig&, const TransformerConfig& ours) {
  return roberta_names("roberta.", ours);
}

TransformerConfig distilbert_config(const HfConfig& hf) {
  TransformerConfig c = masked_config(hf);
  c.d_model = hf.count("dim");
  c.heads = hf.count("n_heads");
  c.ffn = hf.count("hidden_dim");
  c.encoder_layers = c.decoder_layers = hf.count("n_layers");
  c.activation = hf.activation("activation", Activation::gelu);
  c.max_positions = hf.count("max_position_embeddings");
  return c;
}

TensorNames distilbert_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names("distilbert.");
  names.tensor("embedding.tokens", "distilbert.embeddings.word_embeddings.weight");
  names.tensor("embedding.positions", "distilbert.embeddings.position_embeddings.weight");
  names.norm("embedding.norm", "distilbert.embeddings.LayerNorm");
  for_each_layer(ours.encoder_layers, "distilbert.transformer.layer.",
                 [&](const std::string& to, const std::string& from) {
                   names.linear(to + "self_attention.query", from + "attention.q_lin");
                   names.linear(to + "self_attention.key", from + "attention.k_lin");
                   names.linear(to + "self_attention.value", from + "attention.v_lin");
                   names.linear(to + "self_attention.out", from + "attention.out_lin");
                   names.norm(to + "norm1", from + "sa_layer_norm");
                   names.linear(to + "feed_forward.up", from + "ffn.lin1");
                   names.linear(to + "feed_forward.down", from + "ffn.lin2");
                   names.norm(to + "norm2", from + "output_layer_norm");
                 });
  names.linear("head.transform", "vocab_transform");
  names.norm("head.norm", "vocab_layer_norm");
  names.tensor("head.bias", "vocab_projector.bias");
  names.output("vocab_projector.weight");
  names.ignore(".position_ids");
  return names;
}

}  // namespace

const Family family::bert = {"bert", bert_config, bert_tensors};
const Family family::camembert = {"camembert", roberta_config, roberta_tensors};
const Family family::distilbert = {"distilbert", distilbert_config, distilbert_tensors};
const Family family::roberta = {"roberta", roberta_config, roberta_tensors};
const Family family::xlm_roberta = {"xlm-roberta", roberta_config, roberta_tensors};

}  // namespace qkv
