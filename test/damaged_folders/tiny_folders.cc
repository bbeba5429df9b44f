#include "test/damaged_folders/tiny_folders.h"

#include <cmath>
#include <fstream>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "qkv/base/base64.h"
#include "qkv/base/checksum.h"
#include "test/damaged_folders/little_endian.h"

namespace qkv::test {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t C = 4, F = 8, V = 6,
                   T = 16;  // width, feed-forward, vocabulary, positions; one layer of two heads

void write(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

size_t count_of(const std::vector<uint32_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, [](size_t n, uint32_t size) { return n * size; });
}

std::string weights(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += bytes_of(0.5f * std::sin(static_cast<float>(i + count)));
  return bytes;
}

// Variables of a model.bin: those of rank 0 are settings.
class Variables {
 public:
  void setting(const std::string& name, int8_t value) { add(name, {}, 1, bytes_of(value)); }
  void floats(const std::string& name, uint32_t size) { add(name, {size}, 0, weights(size)); }
  void matrix(const std::string& name, uint32_t rows, uint32_t width) {
    std::string bytes;
    for (uint32_t i = 0; i < rows * width; ++i) bytes += static_cast<char>(i * 37);
    add(name + "/weight", {rows, width}, 1, bytes);
    add(name + "/weight_scale", {rows}, 0, std::string(weights(rows)));
  }
  void linear(const std::string& name, uint32_t rows, uint32_t width) {
    matrix(name, rows, width);
    floats(name + "/bias", rows);
  }
  void norm(const std::string& name) {
    floats(name + "/gamma", C);
    floats(name + "/beta", C);
  }
  std::string file() const {
    const std::string spec("TransformerSpec\0", 16);
    return bytes_of(uint32_t{6}, uint16_t{16}) + spec + bytes_of(uint32_t{7}, count_) + bytes_ +
           bytes_of(uint32_t{0});
  }

 private:
  void add(const std::string& name, const std::vector<uint32_t>& shape, uint8_t type, const std::string& data) {
    ++count_;
    bytes_ += bytes_of(static_cast<uint16_t>(name.size() + 1)) + name + '\0' +
              bytes_of(static_cast<uint8_t>(shape.size()));
    for (const uint32_t size : shape) bytes_ += bytes_of(size);
    bytes_ += bytes_of(type, static_cast<uint32_t>(data.size())) + data;
  }
  uint32_t count_ = 0;
  std::string bytes_;
};

std::string le16(size_t n) { return bytes_of(static_cast<uint16_t>(n)); }
std::string le32(size_t n) { return bytes_of(static_cast<uint32_t>(n)); }

}  // namespace

void write_tiny_llama2c(const fs::path& folder) {
  const size_t numbers = V * C + C + 4 * C * C + C + 3 * C * F + C + 2 * T * C / 4;
  write(folder / "stories.bin",
        bytes_of(C, F, uint32_t{1}, uint32_t{2}, uint32_t{2}, V + 4, T) + weights(numbers + 4 * C));
  std::string tokens = bytes_of(uint32_t{9});
  float score = 0;
  for (const std::string token : {"<unk>", "<s>", "</s>", " ", "a", "n", "an", " a", " an", "<0x0A>"})
    tokens += bytes_of(score -= 1, static_cast<uint32_t>(token.size())) + token;
  write(folder / "tok.bin", tokens);
}

void write_tiny_min_gpt(const fs::path& folder) {
  std::string json = fmt::format(
      R"({{"config": {{"model_type": "gpt-nano", "n_layer": 1, "n_head": 2, "n_embd": {}, "vocab_size": 3, )"
      R"("block_size": {}}})",
      C, T);
  const auto tensor = [&](const std::string& name, const std::vector<uint32_t>& shape) {
    json += fmt::format(",\n\"{}\": {{\"shape\": [{}], \"dtype\": \"torch.float32\", \"data\": \"{}\"}}", name,
                        fmt::join(shape, ", "), base64_encoded(weights(count_of(shape))));
  };
  tensor("transformer.wte.weight", {3, C});
  tensor("transformer.wpe.weight", {T, C});
  const std::string layer = "transformer.h.0.";
  for (const std::string& norm : {layer + "ln_1", layer + "ln_2", std::string("transformer.ln_f")}) {
    tensor(norm + ".weight", {C});
    tensor(norm + ".bias", {C});
  }
  for (const auto& [name, rows, width] : {std::tuple("attn.c_attn", 3 * C, C), std::tuple("attn.c_proj", C, C),
                                          std::tuple("mlp.c_fc", 4 * C, C), std::tuple("mlp.c_proj", C, 4 * C)}) {
    tensor(layer + name + ".weight", {rows, width});
    tensor(layer + name + ".bias", {rows});
  }
  tensor("lm_head.weight", {3, C});
  write(folder / "tiny-model.json", json + "}\n");
}

void write_tiny_ctranslate2(const fs::path& folder) {
  Variables v;
  for (const std::string stack : {"encoder", "decoder"}) {
    v.setting(stack + "/num_heads", 2);
    v.setting(stack + "/pre_norm", 1);
    v.matrix(stack + (stack == "encoder" ? "/embeddings_0" : "/embeddings"), V, C);
    const std::string layer = stack + "/layer_0/";
    v.linear(layer + "self_attention/linear_0", 3 * C, C);
    v.linear(layer + "self_attention/linear_1", C, C);
    v.norm(layer + "self_attention/layer_norm");
    v.linear(layer + "ffn/linear_0", F, C);
    v.linear(layer + "ffn/linear_1", C, F);
    v.norm(layer + "ffn/layer_norm");
    v.norm(stack + "/layer_norm");
  }
  v.linear("decoder/layer_0/attention/linear_0", C, C);
  v.linear("decoder/layer_0/attention/linear_1", 2 * C, C);
  v.linear("decoder/layer_0/attention/linear_2", C, C);
  v.norm("decoder/layer_0/attention/layer_norm");
  v.setting("decoder/start_from_zero_embedding", 1);
  v.linear("decoder/projection", V, C);
  write(folder / "model.bin", v.file());
  write(folder / "shared_vocabulary.json", R"(["<unk>", "<s>", "</s>", "the", "man", "dog"])");
}

std::map<std::string, std::string> tiny_marian_arrays() {
  std::map<std::string, std::string> arrays;
  const auto array = [&](const std::string& name, uint32_t rows, uint32_t width) {
    arrays[name + ".npy"] = npy_of("<f4", fmt::format("({}, {})", rows, width), weights(rows * width));
  };
  const auto attention = [&](const std::string& name) {
    for (const char* part : {"q", "k", "v", "o"}) {
      array(name + "_W" + part, C, C);
      array(name + "_b" + part, 1, C);
    }
    array(name + "_Wo_ln_scale", 1, C);
    array(name + "_Wo_ln_bias", 1, C);
  };
  for (const std::string layer : {"encoder_l1", "decoder_l1"}) {
    attention(layer + "_self");
    array(layer + "_ffn_W1", C, F);
    array(layer + "_ffn_b1", 1, F);
    array(layer + "_ffn_W2", F, C);
    for (const char* name : {"_ffn_b2", "_ffn_ffn_ln_scale", "_ffn_ffn_ln_bias"}) array(layer + name, 1, C);
  }
  attention("decoder_l1_context");
  array("Wemb", V, C);
  array("decoder_ff_logit_out_b", 1, V);
  const std::string settings = fmt::format(
      "type: transformer\ndim-emb: {}\ndim-vocabs: [{}, {}]\nenc-depth: 1\ndec-depth: 1\ntransformer-heads: 2\n"
      "transformer-dim-ffn: {}\ntransformer-ffn-activation: relu\ntransformer-postprocess: dan\n"
      "transformer-preprocess: \"\"\ntied-embeddings-all: true\nversion: v1.12.0\n",
      C, V, V, F);
  arrays["special:model.yml.npy"] = npy_of("|i1", fmt::format("({},)", settings.size()), settings);
  return arrays;
}

void write_tiny_marian(const fs::path& folder) {
  write(folder / "model.npz", zip_of(tiny_marian_arrays()));
  write(folder / "vocab.yml", "</s>: 0\n<unk>: 1\nthe: 2\nman: 3\n\"yes\": 4\n1.5: 5\n");
}

std::string npy_of(const std::string& type, const std::string& shape, const std::string& data) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header.resize((header.size() + 10) / 64 * 64 + 53, ' ');
  return "\x93NUMPY" + std::string("\1\0", 2) + le16(header.size() + 1) + header + "\n" + data;
}

std::string zip_of(const std::map<std::string, std::string>& entries) {
  std::string files, directory;
  for (const auto& [name, bytes] : entries) {
    // Version, flags, method, time, date; the checksum, the packed and the whole size; the lengths of name and extra.
    const std::string head = le16(20) + le16(0) + le16(0) + le16(0) + le16(33) + le32(crc32(bytes)) +
                             le32(bytes.size()) + le32(bytes.size()) + le16(name.size()) + le16(0);
    directory += "PK\1\2" + le16(20) + head + le16(0) + le16(0) + le16(0) + le32(0) + le32(files.size()) + name;
    files += "PK\3\4" + head + name + bytes;
  }
  const std::string count = le16(entries.size());
  return files + directory + "PK\5\6" + le16(0) + le16(0) + count + count + le32(directory.size()) +
         le32(files.size()) + le16(0);
}

}  // namespace qkv::test
