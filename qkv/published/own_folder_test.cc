#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/model/causal.h"
#include "qkv/model/masked.h"
#include "qkv/published/load_model.h"
#include "qkv/test_support/tensors.h"

namespace qkv::model_file_test {

namespace fs = std::filesystem;

TransformerConfig small() {
  TransformerConfig c;
  c.source_vocabulary = 9, c.target_vocabulary = 10;
  c.d_model = 8, c.heads = 2, c.ffn = 12;
  c.encoder_layers = 1, c.decoder_layers = 1;
  c.tie = Tie::none;
  c.max_positions = 20;
  return c;
}

class ModelFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "qkv-model-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Saves a model with changed tensors; the error of load_model, or "".
  template <class Change>
  std::string error_of(Change change) {
    Transformer model(small(), 1);
    save_model(folder_, model);
    NamedTensors tensors = parameters_of(model);
    change(tensors);
    save_safetensors(folder_ / "model.safetensors", tensors);
    return error_of();
  }
  std::string error_of() {
    try {
      load_model(folder_);
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  }

  fs::path folder_;
};

TEST_F(ModelFile, GivesTheSameBitsBack) {
  for (const Tie tie : {Tie::all, Tie::target, Tie::none})
    for (const Positions positions : {Positions::sinusoidal, Positions::learned}) {
      TransformerConfig c = small();
      c.tie = tie, c.positions = positions;
      if (tie == Tie::all) c.target_vocabulary = c.source_vocabulary;
      Transformer model(c, 5);
      save_model(folder_, model);
      Transformer back = load_model(folder_);
      EXPECT_EQ(to_json(back.config()), to_json(c));
      const NamedTensors before = parameters_of(model), after = parameters_of(back);
      ASSERT_EQ(before.size(), after.size());
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(before[i].first, after[i].first);
        const auto x = before[i].second.span<float>(), y = after[i].second.span<float>();
        ASSERT_EQ(x.size(), y.size());
        EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size_bytes()), 0) << before[i].first;
      }
      Pass pass;
      const Tensor source = Tensor::from(std::vector<int32_t>{3, 4, 5, 2}, {1, 4});
      const Tensor a = model.encode(source, {4}, pass).memory.value(),
                   b = back.encode(source, {4}, pass).memory.value();
      EXPECT_EQ(std::memcmp(a.span<float>().data(), b.span<float>().data(), a.span<float>().size_bytes()), 0);
    }
}

TEST_F(ModelFile, CausalAndMaskedModelsComeBackAndAreNotTakenForOthers) {
  TransformerConfig c = small();
  c.target_vocabulary = 9, c.norm_kind = NormKind::rms, c.gated_ffn = true;
  const auto same = [](const Model& a, const Model& b) {
    const NamedTensors x = parameters_of(a), y = parameters_of(b);
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_TRUE(x[i].first == y[i].first && test::same_bits(x[i].second, y[i].second)) << x[i].first;
  };
  c.architecture = Architecture::causal;
  const CausalTransformer causal(c, 1);
  save_model(folder_, causal);
  same(causal, load_model_as<CausalTransformer>(folder_));
  EXPECT_EQ(to_json(load_config(folder_)), to_json(c));
  EXPECT_NE(error_of().find("the architecture of this model is causal, expected transformer"), std::string::npos);
  c.architecture = Architecture::masked;
  const MaskedTransformer masked(c, 1);
  save_model(folder_, masked);
  same(masked, load_model_as<MaskedTransformer>(folder_));
  EXPECT_THROW(load_model_as<CausalTransformer>(folder_), InputError);
}

TEST_F(ModelFile, WrongTensorsAreNamed) {
  EXPECT_EQ(error_of([](NamedTensors&) {}), "");
  const std::string file = (folder_ / "model.safetensors").string();
  const auto expect_error = [&](const std::string& got, const std::string& what) {
    EXPECT_NE(got.find(file), std::string::npos) << got;
    EXPECT_NE(got.find(what), std::string::npos) << got;
  };
  expect_error(error_of([](NamedTensors& t) { t.erase(t.begin() + 4); }),
               "encoder.layers.0.self_attention.query.bias");
  expect_error(error_of([](NamedTensors& t) { t.emplace_back("extra", Tensor::zeros({2})); }),
               "'extra' does not belong");
  expect_error(error_of([](NamedTensors& t) { t[0].second = Tensor::zeros({9, 9}); }), "source_embedding");
  expect_error(error_of([](NamedTensors& t) {
                 t[0].second = Tensor::zeros({9, 8}, DType::i32);
               }),
               "tensor 'source_embedding' is i32");
  for (const float wrong : {INFINITY, -INFINITY, NAN})
    expect_error(error_of([&](NamedTensors& t) {
                   Tensor copy = t[0].second.contiguous_copy();
                   copy.span<float>()[3] = wrong;
                   t[0].second = copy;
                 }),
                 "tensor 'source_embedding' holds");
}

TEST_F(ModelFile, HalfPrecisionIsRead) {
  EXPECT_EQ(error_of([](NamedTensors& t) {
              for (auto& [name, tensor] : t) tensor = tensor.to(DType::bf16);
            }),
            "");
}

TEST_F(ModelFile, AFolderThatIsNotAModelSaysSo) {
  EXPECT_NE(error_of().find("there is no config.json"), std::string::npos);
  Transformer model(small(), 1);
  save_model(folder_, model);
  fs::remove(folder_ / "model.safetensors");
  EXPECT_NE(error_of().find("model.safetensors"), std::string::npos);
  write_file(folder_ / "model.safetensors", "not tensors");
  EXPECT_NE(error_of().find("model.safetensors"), std::string::npos);
  write_file(folder_ / "config.json", "{");
  EXPECT_NE(error_of().find("config.json"), std::string::npos);
  fs::remove_all(folder_);
  EXPECT_NE(error_of().find("no such model folder"), std::string::npos);
}

TEST_F(ModelFile, AbsurdSizesAreAnErrorBeforeMemoryIsTaken) {
  Transformer model(small(), 1);
  save_model(folder_, model);
  const auto claim = [&](auto change) {
    TransformerConfig c = small();
    change(c);
    write_file(folder_ / "config.json", to_json(c));
    const int64_t before = storage_statistics().pool_bytes;
    EXPECT_NE(error_of().find("cannot hold the"), std::string::npos) << error_of();
    EXPECT_LT(storage_statistics().pool_bytes - before, 1 << 20);
  };
  claim([](TransformerConfig& c) { c.source_vocabulary = 1 << 24; });
  claim([](TransformerConfig& c) { c.ffn = 1 << 24; });
  claim([](TransformerConfig& c) { c.d_model = 1 << 24, c.max_positions = 1; });
  claim([](TransformerConfig& c) {
    c.d_model = c.ffn = c.source_vocabulary = c.target_vocabulary = 1 << 24, c.max_positions = 16;
    c.encoder_layers = c.decoder_layers = 1000;
  });
  claim([](TransformerConfig& c) { c.encoder_layers = 1000; });
  claim([](TransformerConfig& c) { c.positions = Positions::learned, c.max_positions = 1 << 24; });
}

TEST_F(ModelFile, AFolderThatCannotBeMadeIsAnInputError) {
  Transformer model(small(), 1);
  write_file(folder_ / "file", "");
  EXPECT_THROW(save_model(folder_ / "file" / "model", model), InputError);
}

}  // namespace qkv::model_file_test
