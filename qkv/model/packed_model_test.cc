// Models of every architecture whose weights are packed for inference: same results, half of the memory, no gradients.
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/layer/layer_test.h"
#include "qkv/model/causal.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/make_model.h"
#include "qkv/model/masked.h"
#include "qkv/model/model_file.h"

namespace qkv::packed_model_test {

using namespace test;
namespace fs = std::filesystem;

struct Kind {
  Architecture architecture;
  Tie tie = Tie::all;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << name_of(kind.architecture) << " " << name_of(kind.tie);
}

class PackedModel : public testing::TestWithParam<Kind> {
 protected:
  static std::unique_ptr<Model> made() {
    TransformerConfig c;
    c.architecture = GetParam().architecture;
    c.tie = GetParam().tie;
    c.source_vocabulary = c.target_vocabulary = 320;
    c.d_model = 64, c.heads = 4, c.ffn = 128, c.encoder_layers = 2;
    c.decoder_layers = c.architecture == Architecture::bahdanau ? 1 : 2;
    std::unique_ptr<Model> model = make_model(c);
    randomise(*model, 3);
    return model;
  }
  static CrossEntropy loss(Model& model) {
    const Tensor source = Tensor::from(std::vector<int32_t>{1, 2, 3, 319, 5, 6}, {2, 3});
    Pass pass;
    if (auto* pairs = dynamic_cast<EncoderDecoder*>(&model))
      return pairs->loss(source, {3, 2}, source, source, {}, pass);
    if (auto* causal = dynamic_cast<CausalTransformer*>(&model)) return causal->loss(source, source, {}, pass);
    return dynamic_cast<MaskedTransformer&>(model).loss(source, {3, 2}, source, {}, pass);
  }
};

TEST_P(PackedModel, HasTheSameLossBitForBit) {
  const NoGrad guard;
  const auto model = made(), packed = made();
  packed->pack_for_inference();
  const Tensor expected = loss(*model).token_losses, got = loss(*packed).token_losses;
  for (int64_t i = 0; i < expected.numel(); ++i) EXPECT_EQ(got.data<float>()[i], expected.data<float>()[i]) << i;
}

TEST_P(PackedModel, KeepsNoValuesOfItsWeights) {
  const NoGrad guard;
  const auto held = [](bool packed) {
    const int64_t before = storage_statistics().used_bytes;
    const auto model = made();
    if (packed) model->pack_for_inference();
    loss(*model);
    return static_cast<double>(storage_statistics().used_bytes - before);
  };
  // The parameters that have no packed form: norms, biases, an embedding that is not also an output matrix.
  double rest = 0, all = 0;
  made()->visit([&](const std::string& name, Variable& parameter) {
    const bool table = GetParam().tie == Tie::target ? name == "source_embedding"
                                                     : GetParam().tie == Tie::none && name.ends_with("_embedding");
    const double bytes = 4.0 * static_cast<double>(parameter.shape().numel());
    (table || parameter.shape().rank() < 2 ? rest : all) += bytes;
  });
  EXPECT_GT(held(false) - held(true), 0.99 * all);
  EXPECT_GT(all, 2 * rest);
}

TEST_P(PackedModel, IsSavedUnchanged) {
  const fs::path folder = fs::path(testing::TempDir()) /
                          fmt::format("packed_model.{}.{}", ::getpid(), name_of(GetParam().architecture));
  const auto model = made();
  save_model(folder / "before", *model);
  model->pack_for_inference();
  save_model(folder / "after", *model);
  EXPECT_EQ(read_file(folder / "before/model.safetensors"), read_file(folder / "after/model.safetensors"));
  fs::remove_all(folder);
}

TEST_P(PackedModel, ReportsThatItHasNoGradients) {
  const auto model = made();
  model->pack_for_inference();
  try {
    loss(*model).loss.backward();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is packed for inference, which has no gradients"), std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryArchitecture, PackedModel,
                         testing::Values(Kind{Architecture::encoder_decoder},
                                         Kind{Architecture::encoder_decoder, Tie::none},
                                         Kind{Architecture::encoder_decoder, Tie::target},
                                         Kind{Architecture::causal}, Kind{Architecture::masked},
                                         Kind{Architecture::bahdanau, Tie::none},
                                         Kind{Architecture::luong, Tie::none}));

}  // namespace qkv::packed_model_test
