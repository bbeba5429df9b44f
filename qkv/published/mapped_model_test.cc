// Models whose weights are used in place in mapped files: the results of those that are read, no memory for the
// weights, and files that may be replaced or removed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "qkv/layer/layer_test.h"
#include "qkv/model/causal.h"
#include "qkv/model/make_model.h"
#include "qkv/model/model_file.h"
#include "qkv/published/load_model.h"
#include "qkv/published/published_folder_test.h"
#include "qkv/tensor/storage.h"

namespace qkv::mapped_model_test {

using namespace test;
namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;

std::unique_ptr<Model> opened(const fs::path& folder, InferenceOptions options) {
  return read_model_for_inference(folder, options).model;
}

Tensor losses_of(Model& model) {
  const NoGrad guard;
  const Tensor ids = Tensor::from(std::vector<int32_t>{1, 2, 3, 5, 6, 7, 4, 2}, {2, 4});
  Pass pass;
  return dynamic_cast<CausalTransformer&>(model).loss(ids, ids, {}, pass).token_losses;
}

// Bytes that the weights take beside the mapped file.
int64_t bytes_of_weights(const fs::path& folder, InferenceOptions options) {
  const int64_t before = storage_statistics().used_bytes;
  const auto model = opened(folder, options);
  const int64_t held = storage_statistics().used_bytes - before;
  int64_t rest = 0;
  model->for_each_parameter([&](const std::string&, const Parameter& p) {
    if (!p.is_matrix()) rest += 256 + 4 * p.shape().numel() * 9 / 8;
  });
  return std::max<int64_t>(0, held - rest);
}

void to_bf16(Tensors& tensors) {
  for (auto& [name, tensor] : tensors)
    if (tensor.dtype() == DType::f32) tensor = tensor.to(DType::bf16);
}

class MappedModel : public testing::TestWithParam<const char*> {};

TEST_P(MappedModel, HasTheResultsOfOneThatIsReadInEitherFormat) {
  for (const bool halves : {false, true}) {
    const PublishedFolder folder(GetParam());
    if (halves) folder.change_tensors(to_bf16);
    const auto read = opened(folder.path(), {}), mapped = opened(folder.path(), {.map = true});
    EXPECT_TRUE(same_bits(losses_of(*mapped), losses_of(*read)));
    const auto rounded = opened(folder.path(), {.weights = WeightFormat::bf16}),
               mapped_rounded = opened(folder.path(), {.weights = WeightFormat::bf16, .map = true});
    EXPECT_TRUE(same_bits(losses_of(*mapped_rounded), losses_of(*rounded)));
  }
}

// Fused matrices are parts of one tensor; those of gpt2 are stored transposed, and packed.
INSTANTIATE_TEST_SUITE_P(OfEachLayout, MappedModel,
                         testing::Values("llama", "gpt2", "gpt_neox", "falcon", "phi3", "gemma2", "qwen2"));

TEST(MappedModel, TakesNoMemoryForItsWeights) {
  for (const char* name : {"llama", "phi3"}) {
    const PublishedFolder folder(name);
    EXPECT_GT(bytes_of_weights(folder.path(), {}), 10'000);
    EXPECT_EQ(bytes_of_weights(folder.path(), {.map = true}), 0) << name;
  }
}

TEST(MappedModel, OfOursTakesNoMemoryForItsWeightsEither) {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = 320, c.d_model = 64, c.heads = 4, c.ffn = 128, c.decoder_layers = 2;
  const auto model = make_model(c);
  randomise(*model, 3);
  const ScratchFolder folder;
  save_model(folder.path() / "ours", *model);
  EXPECT_EQ(bytes_of_weights(folder.path() / "ours", {.map = true}), 0);
  EXPECT_TRUE(same_bits(losses_of(*opened(folder.path() / "ours", {.map = true})), losses_of(*model)));
}

TEST(MappedModel, TwoAreIndependentOfEachOtherAndOfTheFolder) {
  const PublishedFolder folder("llama");
  auto first = opened(folder.path(), {.map = true});
  const Tensor expected = losses_of(*first);
  folder.change_tensors([](Tensors& tensors) {  // replaces the file
    for (auto& [name, tensor] : tensors) tensor = tensor.clone(), tensor.fill(0.5f);
  });
  const auto second = opened(folder.path(), {.map = true});
  const Tensor others = losses_of(*second);
  fs::remove_all(folder.path());
  EXPECT_TRUE(same_bits(losses_of(*first), expected));
  first.reset();
  EXPECT_TRUE(same_bits(losses_of(*second), others));
  EXPECT_FALSE(same_bits(others, expected));
}

TEST(MappedModel, NumbersThatAreNotAlignedAreRead) {
  const PublishedFolder folder("llama");
  const Tensor expected = losses_of(*opened(folder.path(), {}));
  const fs::path file = folder.path() / "model.safetensors";
  const std::string bytes = read_file(file);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  auto json = nlohmann::ordered_json::parse(bytes.substr(8, header));
  json.erase("__metadata__");  // a checksum, which this file would not have
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8 + 1, ' ');
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> 8 * i & 255);
  folder.write("model.safetensors", length + text + bytes.substr(8 + header));
  EXPECT_GT(bytes_of_weights(folder.path(), {.map = true}), 10'000);
  EXPECT_TRUE(same_bits(losses_of(*opened(folder.path(), {.map = true})), expected));
}

TEST(MappedModel, DamagedFilesAreRefusedAsWhenTheyAreRead) {
  const auto expect_refused = [](const PublishedFolder& folder) {
    const std::string read = folder.error_of([&] { opened(folder.path(), {}); });
    EXPECT_NE(read, "");
    EXPECT_EQ(folder.error_of([&] { opened(folder.path(), {.map = true}); }), read);
  };
  const PublishedFolder shorter("llama"), infinite("llama"), other("llama");
  const std::string bytes = read_file(shorter.path() / "model.safetensors");
  for (const size_t size : {size_t{0}, size_t{7}, size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    shorter.write("model.safetensors", bytes.substr(0, size));
    expect_refused(shorter);
  }
  infinite.change_tensors([](Tensors& tensors) {
    Tensor& w = tensors.at("model.layers.0.mlp.up_proj.weight");
    w.data<float>()[w.numel() - 1] = INFINITY;
  });
  expect_refused(infinite);
  other.change_tensors([](Tensors& tensors) { tensors["model.norm.weight"] = Tensor::zeros({3}); });
  expect_refused(other);
}

}  // namespace qkv::mapped_model_test
