#include "qkv/published/marian/marian_folder.h"

#include <yaml-cpp/yaml.h>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/published/marian/npz_file.h"
#include "qkv/published/marian/yaml.h"
#include "qkv/published/published_model_folder.h"
#include "qkv/published/zero_start.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// A YAML document whose values are checked when they are read.
class Settings {
 public:
  Settings(const std::string& text, std::string where) : where_(std::move(where)), root_(parse_yaml(text, where_)) {
    require<InputError>(root_.IsMap(), where_, "this is not a map of settings");
  }

  template <class T>
  T get(const std::string& key, const T& absent) const {
    const YAML::Node node = root_[key];
    if (!node || node.IsNull()) return absent;
    try {
      return node.as<T>();
    } catch (const YAML::Exception&) {
      fail<InputError>(where_, "the value of '{}' has the wrong type", key);
    }
  }
  int64_t count(const std::string& key) const {
    const auto value = get<int64_t>(key, 0);
    require<InputError>(value >= 1 && value <= 1 << 24, where_, "'{}' must be 1 to {}, got {}", key, 1 << 24,
                        value);
    return value;
  }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
  YAML::Node root_;
};

std::vector<fs::path> files_ending_in(const fs::path& folder, std::initializer_list<std::string_view> endings) {
  std::vector<fs::path> out;
  for (const fs::path& file : files_in(folder))
    for (const std::string_view ending : endings)
      if (file.filename().string().ends_with(ending)) out.push_back(file);
  std::sort(out.begin(), out.end());
  return out;
}

// decoder.yml, or the only file whose name ends in .decoder.yml.
fs::path decoder_file(const fs::path& folder) {
  if (file_exists(folder / "decoder.yml")) return folder / "decoder.yml";
  const std::vector<fs::path> found = files_ending_in(folder, {".decoder.yml"});
  return found.size() == 1 ? found.front() : fs::path();
}

struct MarianModel {
  const NpzFile& file;
  const Settings& settings;

  bool has(const std::string& name) const { return file.tensors.contains(name); }
  const Tensor& matrix(const std::string& name) const {
    const auto found = file.tensors.find(name);
    require<InputError>(found != file.tensors.end() && found->second.rank() == 2, file.where,
                        "there is no matrix {}", quoted_name(name));
    return found->second;
  }
  std::string table(const char* stack) const { return has("Wemb") ? "Wemb" : std::string(stack) + "_Wemb"; }
};

Activation activation_of(const Settings& settings) {
  const auto name = settings.get<std::string>("transformer-ffn-activation", "swish");
  if (name == "relu") return Activation::relu;
  if (name == "swish") return Activation::silu;
  require<InputError>(name == "gelu", settings.where(), "the activation {} is not supported", quoted_name(name));
  // Until version 1.11 it was an approximation.
  const auto version = settings.get<std::string>("version", "");
  const bool is_new = version.starts_with("v1.12") || version.starts_with("v1.13") || version.starts_with("v2");
  return is_new ? Activation::gelu : Activation::quick_gelu;
}

// The steps before and after each part of a layer: d is dropout, a the residual connection, n and r are norms.
NormOrder norm_order_of(const Settings& settings) {
  const auto before = settings.get<std::string>("transformer-preprocess", "");
  const auto after = settings.get<std::string>("transformer-postprocess", "dan");
  if (before.empty() && (after == "dan" || after == "dar")) return NormOrder::post;
  if ((before == "n" || before == "r") && after == "da") return NormOrder::pre;
  fail<InputError>(settings.where(),
                   "'transformer-preprocess' is {} and 'transformer-postprocess' {}; only '' with 'dan' and "
                   "'n' with 'da' are supported, with n or r",
                   quoted_name(before), quoted_name(after));
}

void refuse_what_is_not_supported(const Settings& settings) {
  const std::pair<const char*, const char*> only[] = {{"type", "transformer"},
                                                      {"transformer-decoder-autoreg", "self-attention"}};
  for (const auto& [key, value] : only)
    require<InputError>(settings.get<std::string>(key, value) == value, settings.where(),
                        "'{}' is {}; only {} is supported", key, quoted_name(settings.get<std::string>(key, value)),
                        value);
  for (const char* key :
       {"transformer-no-projection", "transformer-pool", "ulr", "transformer-disable-position-embeddings"})
    require<InputError>(!settings.get<bool>(key, false), settings.where(), "models with {} are not supported",
                        quoted_name(key));
  for (const char* key : {"transformer-ffn-depth", "transformer-decoder-ffn-depth"}) {
    const auto depth = settings.get<int64_t>(key, 2);
    require<InputError>(depth == 2 || depth == 0, settings.where(), "'{}' is {}; only 2 is supported", key, depth);
  }
  const auto norms = settings.get<std::string>("transformer-postprocess-emb", "d");
  require<InputError>(norms.find_first_not_of("dn") == std::string::npos, settings.where(),
                      "'transformer-postprocess-emb' is {}; only d and n are supported", quoted_name(norms));
}

TransformerConfig config_of(const MarianModel& model) {
  const Settings& settings = model.settings;
  TransformerConfig c;
  const Tensor& target = model.matrix(model.table("decoder"));
  c.d_model = target.dim(1);
  c.source_vocabulary = model.matrix(model.table("encoder")).dim(0);
  c.target_vocabulary = target.dim(0);
  c.encoder_layers = settings.count("enc-depth");
  c.decoder_layers = settings.count("dec-depth");
  c.heads = settings.count("transformer-heads");
  c.ffn = settings.count("transformer-dim-ffn");
  const auto decoder_ffn = settings.get<int64_t>("transformer-decoder-dim-ffn", 0);
  if (decoder_ffn > 0 && decoder_ffn != c.ffn) c.decoder_ffn = decoder_ffn;
  c.activation = activation_of(settings);
  c.norm_order = norm_order_of(settings);
  const auto norms = settings.get<std::string>("transformer-preprocess", "") +
                     settings.get<std::string>("transformer-postprocess", "dan");
  c.norm_kind = norms.find('r') == std::string::npos ? NormKind::layer : NormKind::rms;
  c.norm_eps = 1e-6f;
  c.dropout = 0;
  c.embedding_norm = settings.get<std::string>("transformer-postprocess-emb", "d").find('n') != std::string::npos;
  c.sinusoids = SinusoidLayout::tensor2tensor;
  // Decided by the tensors, because versions that ignore the setting have no such table.
  if (model.has("Wpos")) {
    c.positions = Positions::learned;
    c.max_positions = model.matrix("Wpos").dim(0);
    c.embedding_scale = 1;
  }
  c.output_bias = model.has("decoder_ff_logit_out_b");
  const bool output = !model.has("decoder_ff_logit_out_Wt") && !model.has("decoder_ff_logit_out_W");
  c.tie = model.has("Wemb") ? (output ? Tie::all : Tie::embeddings) : output ? Tie::target : Tie::none;
  return c;
}

// The number, from 1, of the layer whose weights this layer shares.
int64_t weights_of_layer(const Settings& settings, int64_t n) {
  const auto tied = settings.get<std::vector<int64_t>>("transformer-tied-layers", {});
  return n < std::ssize(tied) ? tied[static_cast<size_t>(n)] : n + 1;
}

void name_stack(TensorNames& names, const MarianModel& model, const TransformerConfig& config,
                const std::string& stack) {
  const bool is_decoder = stack == "decoder", is_rms = config.norm_kind == NormKind::rms;
  const std::string before = config.norm_order == NormOrder::pre ? "_pre" : "";
  // Matrices are stored as (in, out).
  const auto linear = [&](const std::string& to, const std::string& from, const std::string& name) {
    names.tensor(to + ".weight", from + "W" + name, {.transposed = true});
    names.tensor(to + ".bias", from + "b" + name);
  };
  const auto norm = [&](const std::string& to, const std::string& from, const std::string& end) {
    names.tensor(to + ".weight", from + (is_rms ? "_rms_scale" : "_ln_scale") + end);
    names.tensor(to + ".bias", from + "_ln_bias" + end);
  };
  const auto attention = [&](const std::string& to, const std::string& from, const std::string& norm_name) {
    for (const auto& [part, name] :
         {std::pair("query", "q"), std::pair("key", "k"), std::pair("value", "v"), std::pair("out", "o")})
      linear(to + "." + part, from, name);
    norm(norm_name, from + "Wo", before);
  };
  for (int64_t n = 0; n < (is_decoder ? config.decoder_layers : config.encoder_layers); ++n) {
    const std::string to = fmt::format("{}.layers.{}.", stack, n);
    const std::string from = fmt::format("{}_l{}_", stack, weights_of_layer(model.settings, n));
    attention(to + "self_attention", from + "self_", to + "norm1");
    if (is_decoder) attention(to + "cross_attention", from + "context_", to + "norm2");
    linear(to + "feed_forward.up", from + "ffn_", "1");
    linear(to + "feed_forward.down", from + "ffn_", "2");
    norm(to + (is_decoder ? "norm3" : "norm2"), from + "ffn_ffn", before);
  }
  norm(stack + ".norm", stack + "_top", "");
  const std::string side = is_decoder ? "target" : "source";
  norm(side + "_embedding.norm", stack + "_emb", "_pre");
  names.tensor(side + "_positions", "Wpos");
}

TensorNames names_of(const MarianModel& model, const TransformerConfig& config) {
  TensorNames names;
  name_stack(names, model, config, "encoder");
  name_stack(names, model, config, "decoder");
  names.tensor("source_embedding", model.table("encoder"));
  names.tensor("target_embedding", model.table("decoder"));
  names.output("decoder_ff_logit_out_Wt");
  names.tensor("output.bias", "decoder_ff_logit_out_b");
  return names;
}

// The first input of a decoder is a vector of zeros.
void add_zero_start(NpzFile& file, const MarianModel& model, TransformerConfig& config) {
  const int64_t V = config.target_vocabulary;
  Tensor& bias = file.tensors["decoder_ff_logit_out_b"];
  if (!config.output_bias) bias = Tensor::zeros({1, V});
  require<InputError>(bias.numel() == V, file.where, "the bias of the logits has {} numbers for {} tokens",
                      bias.numel(), V);
  bias = with_row(bias.reshape({V}), no_logit);
  config.output_bias = true;
  if (const auto old = file.tensors.find("decoder_ff_logit_out_W"); old != file.tensors.end()) {
    file.tensors["decoder_ff_logit_out_Wt"] = model.matrix(old->first).transpose(0, 1).contiguous_copy();
    file.tensors.erase(old);
  }
  if (model.has("decoder_ff_logit_out_Wt"))
    file.tensors["decoder_ff_logit_out_Wt"] = with_row(model.matrix("decoder_ff_logit_out_Wt"), 0);
  file.tensors[model.table("decoder")] = with_row(model.matrix(model.table("decoder")), 0);
  config.target_vocabulary = V + 1;
  if (ties_embeddings(config.tie)) config.source_vocabulary = V + 1;
}

struct MarianFiles {
  fs::path model;
  std::vector<fs::path> vocabularies;  // of source and target
};

MarianFiles marian_files(const fs::path& folder) {
  if (const fs::path decoder = decoder_file(folder); !decoder.empty()) {
    const Settings settings(read_file(decoder, 1'000'000), decoder.string());
    const auto models = settings.get<std::vector<std::string>>("models", {});
    const auto vocabularies = settings.get<std::vector<std::string>>("vocabs", {});
    require<InputError>(models.size() == 1 && vocabularies.size() == 2, decoder.string(),
                        "it names {} and {}, must be 1 and 2", counted(models.size(), "model"),
                        counted(vocabularies.size(), "vocabulary", "vocabularies"));
    const auto here = [&](const std::string& path) { return folder / fs::path(path).filename(); };
    return {here(models[0]), {here(vocabularies[0]), here(vocabularies[1])}};
  }
  const std::vector<fs::path> models = files_ending_in(folder, {".npz"});
  const std::vector<fs::path> vocabularies = files_ending_in(folder, {".spm", ".yml", ".yaml", ".json"});
  const std::string advice =
      "which belong to this model? Write them into decoder.yml: 'models: [model.npz]' and 'vocabs: [source.spm, "
      "target.spm]'";
  require<InputError>(models.size() == 1, folder.string(), "there are {} .npz files; {}", models.size(), advice);
  require<InputError>(vocabularies.size() == 1, folder.string(),
                      "there are {} vocabularies (.spm, .yml, .json); {}", vocabularies.size(), advice);
  return {models[0], {vocabularies[0], vocabularies[0]}};
}

class MarianFolder final : public PublishedModelFolder {
 public:
  explicit MarianFolder(const fs::path& path) : PublishedModelFolder(path) {}

 private:
  const MarianFiles& files() {
    if (!files_) files_ = marian_files(path());
    return *files_;
  }

  PublishedModel read_model() override {
    NpzFile file = NpzFile::load(files().model);
    const auto stored = file.bytes.find("special:model.yml");
    require<InputError>(stored != file.bytes.end(), file.where,
                        "there is no array 'special:model.yml', the settings of the model");
    // Zeros fill its end.
    const Settings settings(stored->second.c_str(), file.where + ": special:model.yml");
    refuse_what_is_not_supported(settings);
    const MarianModel model{file, settings};
    TransformerConfig config = checked_config(file.where, [&] { return config_of(model); });
    add_zero_start(file, model, config);
    TensorNames names = names_of(model, config);
    return {config, std::move(names), PublishedTensors::of(std::move(file.tensors), file.where, file.size),
            file.where};
  }

  // The row of zeros is after those of the target; the source may lack one.
  Tokenizer read_tokenizer(TokenizerSide side, int64_t rows) override {
    const bool is_source = side == TokenizerSide::source;
    const auto start = is_source ? -1 : static_cast<int32_t>(config().target_vocabulary() - 1);
    return marian_tokenizer(files().vocabularies[is_source ? 0 : 1], side, start, rows);
  }

  std::optional<MarianFiles> files_;
};

}  // namespace

std::unique_ptr<ModelFolder> open_marian(const fs::path& path) {
  if (file_exists(path / "config.json") || file_exists(path / "model.bin")) return nullptr;
  if (decoder_file(path).empty() && files_ending_in(path, {".npz"}).empty()) return nullptr;
  return std::make_unique<MarianFolder>(path);
}

}  // namespace qkv
