// Models whose tensors contradict their settings: the tensors decide.
#include "qkv/published/published_parameters.h"

#include <gtest/gtest.h>

#include "qkv/published/published_folder_test.h"
#include "qkv/test_support/tensors.h"

namespace qkv::published_parameters_test {

using test::PublishedFolder;
using Tensors = std::map<std::string, Tensor>;

TransformerConfig config_of(const PublishedFolder& folder) {
  return read_model(folder.path()).model->config().transformer();
}

// Most sentence encoders are saved like this: weights without a head, with the settings of the model that was
// fine-tuned.
TEST(PublishedParameters, AMaskedModelHasAHeadIfItsTensorsDo) {
  const PublishedFolder without("bert");
  without.change_tensors(
      [](Tensors& tensors) { std::erase_if(tensors, [](auto& t) { return t.first.starts_with("cls."); }); });
  ASSERT_EQ(without.error(), "");
  EXPECT_FALSE(config_of(without).head);
  const PublishedFolder with("bert");
  with.change("architectures", {"BertModel"});
  ASSERT_EQ(with.error(), "");
  EXPECT_TRUE(config_of(with).head);
  const PublishedFolder mpnet("mpnet");
  mpnet.change_tensors(
      [](Tensors& tensors) { std::erase_if(tensors, [](auto& t) { return t.first.starts_with("lm_head."); }); });
  ASSERT_EQ(mpnet.error(), "");
  EXPECT_FALSE(config_of(mpnet).head);
  const PublishedFolder half("bert");
  half.change_tensors([](Tensors& tensors) { tensors.erase("cls.predictions.transform.dense.bias"); });
  EXPECT_EQ(half.error(), "model.safetensors: 1 tensor is missing: 'cls.predictions.transform.dense.bias'");
}

// LlamaModel, not LlamaForCausalLM.
TEST(PublishedParameters, AnUntiedModelWithoutTheMatrixOfItsLogitsHasNoHead) {
  const PublishedFolder folder("llama");
  folder.change_tensors([](Tensors& tensors) { tensors.erase("lm_head.weight"); });
  ASSERT_EQ(folder.error(), "");
  EXPECT_FALSE(config_of(folder).head);
  folder.change("tie_word_embeddings", true);
  EXPECT_TRUE(config_of(folder).head);
  EXPECT_EQ(config_of(folder).tie, Tie::all);
}

TEST(PublishedParameters, GptNeoXMayNameItsOutputAsTransformers5Does) {
  const PublishedFolder folder("gpt_neox");
  folder.change_tensors([](Tensors& tensors) {
    auto node = tensors.extract("embed_out.weight");
    node.key() = "lm_head.weight";
    tensors.insert(std::move(node));
  });
  ASSERT_EQ(folder.error(), "");
  EXPECT_TRUE(config_of(folder).head);
}

TEST(PublishedParameters, ARowOfAnotherLengthIsNotTheBiasOfTheLogits) {
  const PublishedFolder folder("bart");
  folder.change_tensors([](Tensors& tensors) { tensors["final_logits_bias"] = Tensor::zeros({1, 7}); });
  const std::string error = folder.error();
  EXPECT_TRUE(error.starts_with("model.safetensors: tensor 'final_logits_bias' gives (1, 7), the model expects"))
      << error;
}

TEST(PublishedParameters, TensorsOfTheTrainingProgramAreIgnored) {
  const PublishedFolder folder("bart");
  folder.change_tensors([](Tensors& tensors) {
    tensors["model.encoder.version"] = tensors["decoder.version"] = Tensor::zeros({1});
    tensors["model.encoder.layers.0._extra_state"] = Tensor::zeros({4});
  });
  EXPECT_EQ(folder.error(), "");
}

TEST(PublishedParameters, AWholeFileCountsMoreThanAStaleIndex) {
  const PublishedFolder folder("llama");
  folder.write("model.safetensors.index.json", R"({"weight_map": {"a": "gone.safetensors"}})");
  EXPECT_EQ(folder.error(), "");
}

TEST(PublishedParameters, QuantisedWeightsAreNamed) {
  const PublishedFolder folder("llama");
  folder.change("quantization_config", {{"quant_method", "gptq"}, {"bits", 4}});
  EXPECT_EQ(folder.error(), "") << "weights that are not";
  folder.change_tensors([](Tensors& tensors) { tensors.erase("model.layers.0.self_attn.q_proj.weight"); });
  EXPECT_EQ(
      folder.error(),
      "config.json: the weights are quantised by 'gptq' ('quantization_config'), which is not supported; take "
      "the model that they were made from, in f32, f16 or bf16");
}

// Folders of before 2023: one file, or several with an index.
TEST(PublishedParameters, PickledWeightsAreNamedWithTheWayOut) {
  const auto refused = [](const PublishedFolder& folder, const std::string& file) {
    EXPECT_EQ(folder.error(), " " + file +
                                  " is not read, because loading it can execute arbitrary code; save the model "
                                  "again with save_pretrained(folder, safe_serialization=True) of transformers");
  };
  const PublishedFolder whole("llama"), parts("llama");
  whole.write("pytorch_model.bin", "");
  EXPECT_EQ(whole.error(), "") << "the same model is there in another format";
  for (const PublishedFolder* folder : {&whole, &parts})
    std::filesystem::remove(folder->path() / "model.safetensors");
  refused(whole, "pytorch_model.bin");
  for (const char* name : {"pytorch_model-00002-of-00002.bin", "pytorch_model-00001-of-00002.bin"})
    parts.write(name, "");
  parts.write("pytorch_model.bin.index.json",
              R"({"weight_map": {"lm_head.weight": "pytorch_model-00002-of-00002.bin"}})");
  refused(parts, "pytorch_model-00001-of-00002.bin");
}

TEST(PublishedParameters, AGitLfsPointerIsNamed) {
  const PublishedFolder folder("llama");
  folder.write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
  EXPECT_EQ(folder.error(),
            "model.safetensors: this is a Git LFS pointer, not the file: run 'git lfs pull' in the folder");
}

// The rows of fused and of transposed matrices, too.
class StoredAsBf16 : public testing::TestWithParam<const char*> {};

TEST_P(StoredAsBf16, IsHeldAsBf16WithTheNumbersOfTheFile) {
  const PublishedFolder halves(GetParam()), floats(GetParam());
  const auto round = [](Tensors& tensors, bool widened) {
    for (auto& [name, tensor] : tensors) {
      if (tensor.dtype() != DType::f32) continue;
      tensor = tensor.to(DType::bf16);
      if (widened) tensor = tensor.to(DType::f32);
    }
  };
  halves.change_tensors([&](Tensors& tensors) { round(tensors, false); });
  floats.change_tensors([&](Tensors& tensors) { round(tensors, true); });
  const auto held = read_model_for_inference(halves.path()).model, trained = read_model(halves.path()).model,
             expected = read_model(floats.path()).model,
             widened = read_model_for_inference(halves.path(), {.weights = WeightFormat::f32}).model;
  int64_t matrices = 0;
  held->for_each_parameter([&](const std::string& name, const Parameter& p) {
    matrices += p.is_matrix();
    EXPECT_EQ(p.weight().format(), p.is_matrix() ? WeightFormat::bf16 : WeightFormat::f32) << name;
  });
  EXPECT_GT(matrices, 0);
  const NamedTensors wanted = parameters_of(*expected);
  for (const Model* model : {held.get(), trained.get(), widened.get()}) {
    const NamedTensors got = parameters_of(*model);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(test::same_bits(got[i].second.to(DType::f32), wanted[i].second)) << got[i].first;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachLayout, StoredAsBf16,
                         testing::Values("llama", "gpt2", "gpt_neox", "falcon", "phi3", "t5", "bert", "bart"));

}  // namespace qkv::published_parameters_test
