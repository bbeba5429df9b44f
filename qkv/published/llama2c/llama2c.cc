#include "qkv/published/llama2c/llama2c.h"

#include <cstring>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/published/family/family.h"
#include "qkv/published/family/rope.h"
#include "qkv/published/published_model_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

struct Header {
  int32_t d_model, ffn, layers, heads, kv_heads, vocabulary, positions;
};

// Read in the order of the file. A negative vocabulary size means that the output matrix is not the embedding matrix.
class Weights {
 public:
  Weights(std::string bytes, std::string where) : bytes_(std::move(bytes)), where_(std::move(where)) {
    require<InputError>(bytes_.size() >= sizeof(Header), where_, "not a llama2.c checkpoint: {} bytes",
                        bytes_.size());
    std::memcpy(&header_, bytes_.data(), sizeof(Header));
    at_ = sizeof(Header);
    is_tied_ = header_.vocabulary > 0;
    if (!is_tied_ && header_.vocabulary > INT32_MIN) header_.vocabulary = -header_.vocabulary;
    const auto& [C, F, L, H, G, V, T] = header_;
    constexpr int32_t limit = 1 << 24;
    const bool sane = C > 0 && C < limit && F > 0 && F < limit && L > 0 && L < 4096 && H > 0 && H <= C && G > 0 &&
                      V > 0 && V < limit && T > 0 && T < limit;
    require<InputError>(sane && C % H == 0 && C / H % 2 == 0 && H % G == 0, where_,
                        "invalid llama2.c sizes: d_model {}, hidden {}, layers {}, heads {}, "
                        "kv_heads {}, vocabulary {}, positions {}",
                        C, F, L, H, G, V, T);
  }
  const Header& header() const { return header_; }
  bool is_tied() const { return is_tied_; }
  size_t size() const { return bytes_.size(); }

  Tensor take(const Shape& shape) {
    Tensor out = Tensor::empty(check(shape));
    std::memcpy(out.data<float>(), bytes_.data() + at_, static_cast<size_t>(out.numel()) * sizeof(float));
    skip(shape);
    return out;
  }
  void skip(const Shape& shape) { at_ += static_cast<size_t>(check(shape).numel()) * sizeof(float); }
  void end() const {
    require<InputError>(at_ == bytes_.size(), where_, "{} bytes are left after the weights", bytes_.size() - at_);
  }

 private:
  const Shape& check(const Shape& shape) const {
    require<InputError>(static_cast<size_t>(shape.numel()) <= (bytes_.size() - at_) / sizeof(float), where_,
                        "the file ends within the weights {}", shape);
    return shape;
  }

  std::string bytes_, where_;
  Header header_{};
  size_t at_ = 0;
  bool is_tied_ = true;
};

// Adjacent rotary pairs become pairs from the two halves of a head, as Hugging Face stores a Llama.
Tensor with_halves(const Tensor& weight, int64_t heads) {
  const int64_t C = weight.dim(1), width = weight.dim(0) / heads;
  return weight.reshape({heads, width / 2, 2, C}).transpose(1, 2).contiguous_copy().reshape({heads * width, C});
}

std::string config_of(const Weights& weights) {
  const auto& [C, F, L, H, G, V, T] = weights.header();
  return Json{{"model_type", "llama"},
              {"hidden_size", C},
              {"intermediate_size", F},
              {"num_hidden_layers", L},
              {"num_attention_heads", H},
              {"num_key_value_heads", G},
              {"vocab_size", V},
              {"max_position_embeddings", T},
              {"rms_norm_eps", 1e-5},
              {"rope_theta", 10000.0},
              {"tie_word_embeddings", weights.is_tied()}}
      .dump();
}

// The tensors, by the names of Hugging Face.
std::map<std::string, Tensor> tensors_of(Weights& weights) {
  const auto [C, F, layers, H, G, V, T] = weights.header();
  const int64_t width = C / H;
  std::map<std::string, Tensor> out;
  out["model.embed_tokens.weight"] = weights.take({V, C});
  // Clang before version 16 does not capture a structured binding by itself.
  const auto take_layers = [&, L = layers](const char* name, const Shape& shape, int64_t rotary_heads = 0) {
    for (int64_t n = 0; n < L; ++n) {
      const Tensor weight = weights.take(shape);
      out[fmt::format("model.layers.{}.{}.weight", n, name)] =
          rotary_heads > 0 ? with_halves(weight, rotary_heads) : weight;
    }
  };
  take_layers("input_layernorm", {C});
  take_layers("self_attn.q_proj", {C, C}, H);
  take_layers("self_attn.k_proj", {G * width, C}, G);
  take_layers("self_attn.v_proj", {G * width, C});
  take_layers("self_attn.o_proj", {C, C});
  take_layers("post_attention_layernorm", {C});
  take_layers("mlp.gate_proj", {F, C});
  take_layers("mlp.down_proj", {C, F});
  take_layers("mlp.up_proj", {F, C});
  out["model.norm.weight"] = weights.take({C});
  weights.skip({2, T, width / 2});  // cosines and sines
  if (!weights.is_tied()) out["lm_head.weight"] = weights.take({V, C});
  weights.end();
  return out;
}

struct Llama2cFiles {
  fs::path model, vocabulary;
};

// Both paths are empty if the folder does not hold one of each.
Llama2cFiles llama2c_files(const fs::path& folder) {
  Llama2cFiles files;
  for (const fs::path& path : files_in(folder)) {
    if (path.extension() != ".bin") continue;
    fs::path& file = path.filename().string().starts_with("tok") ? files.vocabulary : files.model;
    if (!file.empty()) return {};
    file = path;
  }
  return files;
}

class Llama2cFolder final : public PublishedModelFolder {
 public:
  Llama2cFolder(const fs::path& path, Llama2cFiles files) : PublishedModelFolder(path), files_(std::move(files)) {}

 private:
  PublishedModel read_model() override {
    const std::string where = files_.model.string();
    Weights weights(read_file(files_.model), where);
    const HfConfig hf(config_of(weights), where);
    TransformerConfig config = checked_config(where, [&] { return family::llama.config(hf); });
    config.context_length = read_context_length(hf);
    const auto bytes = static_cast<int64_t>(weights.size());
    return {config, family::llama.tensors(hf, config), PublishedTensors::of(tensors_of(weights), where, bytes),
            where};
  }

  Tokenizer read_tokenizer(TokenizerSide, int64_t rows) override {
    return llama2c_tokenizer(files_.vocabulary, rows);
  }

  Llama2cFiles files_;
};

}  // namespace

std::unique_ptr<ModelFolder> open_llama2c(const fs::path& path) {
  if (file_exists(path / "config.json") || file_exists(path / "model.bin")) return nullptr;
  Llama2cFiles files = llama2c_files(path);
  if (files.model.empty() || files.vocabulary.empty()) return nullptr;
  return std::make_unique<Llama2cFolder>(path, std::move(files));
}

}  // namespace qkv
