#include "qkv/published/ctranslate2/ctranslate2.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/published/ctranslate2/ctranslate2_file.h"
#include "qkv/published/family/family.h"
#include "qkv/published/published_model_folder.h"
#include "qkv/published/zero_start.h"

namespace qkv {
namespace {

// A setting, with its stack in front of the name or, before revision 5, without.
double setting(const CTranslate2File& file, const std::string& stack, const std::string& name, double absent) {
  return file.setting(stack + "/" + name, file.setting(name, absent));
}

int64_t layers_of(const CTranslate2File& file, const std::string& stack) {
  int64_t n = 0;
  while (file.has(fmt::format("{}/layer_{}/ffn/linear_0/weight", stack, n))) ++n;
  require<InputError>(n > 0, file.where, "there is no {}/layer_0/ffn/linear_0/weight", quoted_name(stack));
  return n;
}

const Tensor& matrix(const CTranslate2File& file, const std::string& name) {
  const auto found = file.tensors.find(name);
  require<InputError>(found != file.tensors.end() && found->second.rank() == 2, file.where, "there is no matrix {}",
                      quoted_name(name));
  return found->second;
}

std::string source_table(const CTranslate2File& file) {
  return file.has("encoder/embeddings/weight") ? "encoder/embeddings/weight" : "encoder/embeddings_0/weight";
}

Activation activation_of(const CTranslate2File& file) {
  const double code = setting(file, "decoder", "activation", 0);
  if (code == 0) return Activation::relu;
  if (code == 1) return Activation::gelu_tanh;
  if (code == 2) return Activation::silu;
  if (code == 3) return Activation::gelu;
  if (code == 4) return Activation::quick_gelu;
  fail<InputError>(file.where, "the code of the activation must be 0 to 4, got {}", code);
}

int64_t heads_of(const CTranslate2File& file, const std::string& stack) {
  const double by_name = file.spec == "TransformerBig" ? 16 : 8;
  const double heads = setting(file, stack, "num_heads", by_name);
  require<InputError>(heads >= 1 && heads <= 65536, file.where, "the number of heads is {}", heads);
  return static_cast<int64_t>(heads);
}

bool same_tensor(const CTranslate2File& file, const std::string& a, const std::string& b) {
  const auto root = [&](const std::string& name) {
    const auto alias = file.aliases.find(name);
    return alias == file.aliases.end() ? name : alias->second;
  };
  return root(a) == root(b);
}

Tie tie_of(const CTranslate2File& file) {
  const bool embeddings = same_tensor(file, source_table(file), "decoder/embeddings/weight");
  const bool output = same_tensor(file, "decoder/projection/weight", "decoder/embeddings/weight");
  if (embeddings) return output ? Tie::all : Tie::embeddings;
  return output ? Tie::target : Tie::none;
}

float embedding_scale(const CTranslate2File& file) {
  const double scale = setting(file, "encoder", "scale_embeddings",
                               setting(file, "encoder", "embeddings/multiply_by_sqrt_depth", 1));
  return scale == 1 ? 0.0f : scale == 0 ? 1.0f : static_cast<float>(scale);  // 0: sqrt(C)
}

void refuse_what_is_not_supported(const CTranslate2File& file) {
  for (const auto& [name, tensor] : file.tensors)
    for (const char* part :
         {"relative_position_keys", "relative_attention_bias", "embeddings_1/", "rotary", "alibi"})
      require<InputError>(name.find(part) == std::string::npos, file.where, "models with {} are not supported",
                          quoted_name(name));
  const bool known = file.spec.empty() || file.spec == "TransformerBase" || file.spec == "TransformerBig" ||
                     file.spec == "TransformerSpec";
  require<InputError>(known, file.where, "models of the kind {} are not supported, only encoder-decoders",
                      quoted_name(file.spec));
}

TransformerConfig config_of(const CTranslate2File& file) {
  TransformerConfig c;
  const Tensor& table = matrix(file, "decoder/embeddings/weight");
  c.d_model = table.dim(1);
  c.source_vocabulary = matrix(file, source_table(file)).dim(0);
  c.target_vocabulary = table.dim(0);
  c.encoder_layers = layers_of(file, "encoder");
  c.decoder_layers = layers_of(file, "decoder");
  c.heads = heads_of(file, "encoder");
  c.ffn = matrix(file, "encoder/layer_0/ffn/linear_0/weight").dim(0);
  if (const int64_t heads = heads_of(file, "decoder"); heads != c.heads) c.decoder_heads = heads;
  if (const int64_t ffn = matrix(file, "decoder/layer_0/ffn/linear_0/weight").dim(0); ffn != c.ffn)
    c.decoder_ffn = ffn;
  c.activation = activation_of(file);
  c.gated_ffn = file.has("encoder/layer_0/ffn/linear_0_noact/weight");
  c.dropout = 0;
  c.norm_order = setting(file, "encoder", "pre_norm", 1) != 0 ? NormOrder::pre : NormOrder::post;
  const bool has_beta = file.has("encoder/layer_0/self_attention/layer_norm/beta");
  c.norm_kind = has_beta ? NormKind::layer : NormKind::rms;
  c.norm_eps = has_beta ? 1e-5f : 1e-6f;
  c.attention_bias = file.has("encoder/layer_0/self_attention/linear_0/bias");
  c.ffn_bias = file.has("encoder/layer_0/ffn/linear_0/bias");
  c.embedding_scale = embedding_scale(file);
  c.embedding_norm = file.has("encoder/layernorm_embedding/gamma");
  c.output_bias = file.has("decoder/projection/bias");
  c.tie = tie_of(file);
  if (file.has("encoder/position_encodings/encodings")) {
    c.positions = Positions::learned;
    c.max_positions = matrix(file, "encoder/position_encodings/encodings").dim(0);
  } else {
    c.sinusoids = SinusoidLayout::tensor2tensor;
    c.position_offset = 1;
  }
  return c;
}

void name_stack(TensorNames& names, const std::string& stack, int64_t layers, int64_t C, bool gated) {
  const auto linear = [&](const std::string& to, const std::string& from, const std::vector<int64_t>& rows = {}) {
    names.tensor(to + ".weight", from + "/weight", {.rows = rows});
    names.tensor(to + ".bias", from + "/bias", {.rows = rows});
  };
  const auto norm = [&](const std::string& to, const std::string& from) {
    names.tensor(to + ".weight", from + "/gamma");
    names.tensor(to + ".bias", from + "/beta");
  };
  const bool is_decoder = stack == "decoder";
  for (int64_t n = 0; n < layers; ++n) {
    const std::string to = fmt::format("{}.layers.{}.", stack, n), from = fmt::format("{}/layer_{}/", stack, n);
    const std::string self = from + "self_attention/", cross = from + "attention/";
    linear(to + "self_attention.query", self + "linear_0", row_range(0, C));
    linear(to + "self_attention.key", self + "linear_0", row_range(C, 2 * C));
    linear(to + "self_attention.value", self + "linear_0", row_range(2 * C, 3 * C));
    linear(to + "self_attention.out", self + "linear_1");
    norm(to + "norm1", self + "layer_norm");
    if (is_decoder) {
      linear(to + "cross_attention.query", cross + "linear_0");
      linear(to + "cross_attention.key", cross + "linear_1", row_range(0, C));
      linear(to + "cross_attention.value", cross + "linear_1", row_range(C, 2 * C));
      linear(to + "cross_attention.out", cross + "linear_2");
      norm(to + "norm2", cross + "layer_norm");
    }
    linear(to + (gated ? "feed_forward.gate" : "feed_forward.up"), from + "ffn/linear_0");
    if (gated) linear(to + "feed_forward.up", from + "ffn/linear_0_noact");
    linear(to + "feed_forward.down", from + "ffn/linear_1");
    norm(to + (is_decoder ? "norm3" : "norm2"), from + "ffn/layer_norm");
  }
  norm(stack + ".norm", stack + "/layer_norm");
  const std::string side = is_decoder ? "target" : "source";
  norm(side + "_embedding.norm", stack + "/layernorm_embedding");
  names.tensor(side + "_positions", stack + "/position_encodings/encodings");
}

TensorNames names_of(const CTranslate2File& file, const TransformerConfig& ours) {
  TensorNames names;
  name_stack(names, "encoder", ours.encoder_layers, ours.d_model, ours.gated_ffn);
  name_stack(names, "decoder", ours.decoder_layers, ours.d_model, ours.gated_ffn);
  names.tensor("source_embedding", source_table(file));
  names.tensor("target_embedding", "decoder/embeddings/weight");
  names.output("decoder/projection/weight");
  names.tensor("output.bias", "decoder/projection/bias");
  for (const auto& [alias, name] : file.aliases) names.ignore(alias);
  // The tensor that an alias refers to, where only one of the two is a parameter.
  for (const char* table : {"decoder/embeddings/weight", "decoder/projection/weight"}) names.ignore(table);
  // A row of heads and layers for alignment.
  names.ignore("decoder/alignment_heads");
  return names;
}

// Tables that are one tensor stay equal.
void add_zero_start(CTranslate2File& file, TransformerConfig& config) {
  const int64_t V = config.target_vocabulary;
  if (!file.has("decoder/projection/bias")) {
    file.tensors["decoder/projection/bias"] = Tensor::zeros({V});
    config.output_bias = true;
  }
  file.tensors["decoder/projection/bias"] = with_row(file.tensors["decoder/projection/bias"], no_logit);
  for (const char* name : {"decoder/embeddings/weight", "decoder/projection/weight"})
    file.tensors[name] = with_row(matrix(file, name), 0);
  config.target_vocabulary = V + 1;
  if (!ties_embeddings(config.tie)) return;
  file.tensors[source_table(file)] = file.tensors["decoder/embeddings/weight"];
  config.source_vocabulary = V + 1;
}

int32_t zero_start_of(const CTranslate2File& file) {
  if (file.setting("decoder/start_from_zero_embedding", 0) == 0) return -1;
  return static_cast<int32_t>(matrix(file, "decoder/embeddings/weight").dim(0));
}

class CTranslate2Folder final : public PublishedModelFolder {
 public:
  explicit CTranslate2Folder(const std::filesystem::path& path) : PublishedModelFolder(path) {}

 private:
  PublishedModel read_model() override {
    CTranslate2File file = CTranslate2File::load(path() / "model.bin");
    refuse_what_is_not_supported(file);
    texts_ = {.source_bos = file.setting("with_source_bos", 0) != 0,
              .source_eos = file.setting("with_source_eos", 0) != 0,
              .zero_start = zero_start_of(file)};
    TransformerConfig config = checked_config(file.where, [&] { return config_of(file); });
    if (texts_.zero_start >= 0) add_zero_start(file, config);
    TensorNames names = names_of(file, config);
    return {config, std::move(names), PublishedTensors::of(std::move(file.tensors), file.where, file.bytes),
            file.where};
  }

  Tokenizer read_tokenizer(TokenizerSide side, int64_t rows) override {
    return ctranslate2_tokenizer(path(), texts_, side, rows);
  }

  CTranslate2Texts texts_;  // of the model, which is read before
};

}  // namespace

std::unique_ptr<ModelFolder> open_ctranslate2(const std::filesystem::path& path) {
  if (!file_exists(path / "model.bin") || file_exists(path / "model.safetensors")) return nullptr;
  return std::make_unique<CTranslate2Folder>(path);
}

}  // namespace qkv
