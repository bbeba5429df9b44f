#include "qkv/published/marian/write_marian.h"

#include <cmath>

#include <fmt/core.h>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/model_file.h"
#include "qkv/published/family/marian.h"

namespace qkv {
namespace {

void check_is_marian(const TransformerConfig& ours) {
  TransformerConfig marian;  // with the settings that it shares with ours
  marian.source_vocabulary = ours.source_vocabulary;
  marian.target_vocabulary = ours.target_vocabulary;
  marian.d_model = ours.d_model;
  marian.heads = ours.heads;
  marian.ffn = ours.ffn;
  marian.encoder_layers = ours.encoder_layers;
  marian.decoder_layers = ours.decoder_layers;
  marian.dropout = ours.dropout;
  marian.attention_dropout = ours.attention_dropout;
  marian.ffn_dropout = ours.ffn_dropout;
  marian.max_positions = ours.max_positions;
  marian.norm_order = NormOrder::post;
  marian.sinusoids = ours.sinusoids == SinusoidLayout::halves ? ours.sinusoids : SinusoidLayout::interleaved;
  if (ours.activation == Activation::gelu || ours.activation == Activation::silu)
    marian.activation = ours.activation;
  const Json expected = Json::parse(to_json(marian)), got = Json::parse(to_json(ours));
  std::vector<std::string> reasons;
  for (const auto& [key, value] : got.items())
    if (expected.value(key) != value)
      reasons.push_back(expected.contains(key)
                            ? fmt::format("{} is {}, must be {}", key, value.dump(), expected[key].dump())
                            : fmt::format("it has {} {}", key, value.dump()));
  require<UsageError>(reasons.empty(), "convert", "this model cannot be written as a Marian model: {}",
                      name_list(reasons, "; "));
  require<UsageError>(ours.d_model % 2 == 0, "convert", "d_model must be even for Marian, got {}", ours.d_model);
}

// For each of their rows, and of their channels of d_model, the index of ours.
struct Order {
  std::vector<int32_t> ids;
  std::vector<int64_t> channels;

  // (n,C) or (C): channels of the last axis.
  Tensor columns(const Tensor& tensor) const {
    Tensor out = Tensor::empty(tensor.shape());
    const auto C = static_cast<int64_t>(channels.size());
    const float* from = tensor.data<float>();
    float* to = out.data<float>();
    for (int64_t r = 0; r < tensor.numel() / C; ++r)
      for (int64_t c = 0; c < C; ++c) to[r * C + c] = from[r * C + channels[static_cast<size_t>(c)]];
    return out;
  }
  // (C,n) or (C): of the first axis.
  Tensor rows(const Tensor& tensor) const {
    Tensor out = Tensor::empty(tensor.shape());
    const int64_t width = tensor.numel() / tensor.dim(0);
    for (size_t c = 0; c < channels.size(); ++c)
      std::copy_n(tensor.data<float>() + channels[c] * width, width,
                  out.data<float>() + static_cast<int64_t>(c) * width);
    return out;
  }
  // (V,C): tokens and channels.
  Tensor table(const Tensor& tensor) const {
    const int64_t C = tensor.dim(1);
    Tensor out = Tensor::zeros({std::ssize(ids), C});
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] >= 0)
        std::copy_n(tensor.data<float>() + ids[i] * C, C, out.data<float>() + static_cast<int64_t>(i) * C);
    return columns(out);
  }
};

Order order_of(const TransformerConfig& config, const MarianTokens& tokens) {
  Order order;
  order.ids = {tokens.eos, tokens.unk};
  for (int32_t id = 0; id < config.target_vocabulary; ++id)
    if (id != tokens.pad && id != tokens.bos && id != tokens.eos && id != tokens.unk) order.ids.push_back(id);
  for (const int32_t id : {tokens.bos, tokens.pad, -1}) order.ids.push_back(id);
  const int64_t C = config.d_model;
  const bool interleaved = config.sinusoids == SinusoidLayout::interleaved;
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t k = 0; k < C / 2; ++k) order.channels.push_back(interleaved ? 2 * k + half : half * C / 2 + k);
  return order;
}

// Which axis of "encoder.layers.0.self_attention.out.weight" is d_model.
Tensor reordered(const std::string& name, const Tensor& value, const Order& order) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("embedding")) return order.table(value);
  if (has("norm")) return order.columns(value);
  if (has(".out.") || has(".down.")) return order.rows(value);
  return value.rank() == 2 ? order.columns(value) : value;
}

std::string config_json(const TransformerConfig& c, int64_t V) {
  const char* activation = c.activation == Activation::relu   ? "relu"
                           : c.activation == Activation::gelu ? "gelu"
                                                              : "swish";
  const int64_t pad = V - 1;
  return Json{{"architectures", {"MarianMTModel"}},
              {"model_type", "marian"},
              {"is_encoder_decoder", true},
              {"vocab_size", V},
              {"decoder_vocab_size", V},
              {"d_model", c.d_model},
              {"encoder_layers", c.encoder_layers},
              {"decoder_layers", c.decoder_layers},
              {"num_hidden_layers", c.encoder_layers},
              {"encoder_attention_heads", c.heads},
              {"decoder_attention_heads", c.heads},
              {"encoder_ffn_dim", c.ffn},
              {"decoder_ffn_dim", c.ffn},
              {"activation_function", activation},
              {"dropout", c.dropout},
              {"attention_dropout", c.attention_dropout},
              {"activation_dropout", c.ffn_dropout},
              {"max_position_embeddings", c.max_positions},
              {positions_in_checkpoint, true},
              {"scale_embedding", true},
              {"share_encoder_decoder_embeddings", true},
              {"tie_word_embeddings", true},
              {"static_position_embeddings", true},
              {"normalize_before", false},
              {"normalize_embedding", false},
              {"add_final_layer_norm", false},
              {"bos_token_id", 0},
              {"eos_token_id", 0},
              {"pad_token_id", pad},
              {"decoder_start_token_id", pad}}
             .dump(2) +
         "\n";
}

std::string generation_json(const TransformerConfig& c, int64_t V) {
  const int64_t pad = V - 1;
  return Json{{"bad_words_ids", {{pad - 2}, {pad - 1}, {pad}}},
              {"bos_token_id", 0},
              {"eos_token_id", 0},
              {"pad_token_id", pad},
              {"decoder_start_token_id", pad},
              {"forced_eos_token_id", 0},
              {"max_length", std::min<int64_t>(512, c.max_positions)},
              {"num_beams", 4}}
             .dump(2) +
         "\n";
}

// Sinusoids; in the decoder, row 0 also has the embedding of its first token.
Tensor positions(const TransformerConfig& config, const Tensor* first) {
  const int64_t C = config.d_model;
  Tensor table = sinusoidal(config.max_positions, C, {.layout = SinusoidLayout::halves});
  if (first == nullptr) return table;
  const float scale = std::sqrt(static_cast<float>(C));
  for (int64_t c = 0; c < C; ++c) table.data<float>()[c] += scale * first->data<float>()[c];
  return table;
}

}  // namespace

MarianExport marian_export(const Transformer& model, const MarianTokens& tokens) {
  const TransformerConfig& config = model.config().transformer();
  check_is_marian(config);
  const Order order = order_of(config, tokens);
  const HfConfig hf(config_json(config, std::ssize(order.ids)), "convert");
  const TensorNames names = family::marian.tensors(hf, family::marian.config(hf));
  MarianExport out{.config = config_json(config, std::ssize(order.ids)),
                   .generation_config = generation_json(config, std::ssize(order.ids)),
                   .tensors = {},
                   .ids = order.ids};
  Tensor first;
  for (const auto& [name, value] : parameters_of(model)) {
    if (name == "source_embedding")
      first = order.columns(value.slice(0, tokens.bos, tokens.bos + 1).contiguous_copy());
    out.tensors.emplace_back(names.sources().at(name).name, reordered(name, value, order));
  }
  out.tensors.emplace_back("model.encoder.embed_positions.weight", positions(config, nullptr));
  out.tensors.emplace_back("model.decoder.embed_positions.weight", positions(config, &first));
  // The pad is never an answer.
  Tensor bias = Tensor::zeros({1, std::ssize(order.ids)});
  bias.data<float>()[bias.numel() - 1] = no_logit;
  out.tensors.emplace_back("final_logits_bias", bias);
  return out;
}

}  // namespace qkv
