// Models of every architecture whose weights are packed for inference, in every number format: the results of the same
// numbers as variables, less memory, no gradients.
#include <filesystem>
#include <set>
#include <tuple>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/layer/layer_test.h"
#include "qkv/model/architecture_table.h"
#include "qkv/model/causal.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/make_model.h"
#include "qkv/model/masked.h"
#include "qkv/published/load_model.h"
#include "qkv/tensor/storage.h"

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

class PackedModel : public testing::TestWithParam<std::tuple<Kind, WeightFormat>> {
 protected:
  static Kind kind() { return std::get<0>(GetParam()); }
  static WeightFormat format() { return std::get<1>(GetParam()); }
  static std::unique_ptr<Model> made() {
    TransformerConfig c;
    c.architecture = kind().architecture;
    c.tie = kind().tie;
    c.source_vocabulary = c.target_vocabulary = 320;
    c.d_model = 64, c.heads = 4, c.ffn = 128, c.encoder_layers = 2;
    c.decoder_layers = c.architecture == Architecture::bahdanau ? 1 : 2;
    std::unique_ptr<Model> model = make_model(for_architecture(c, c.architecture));
    randomise(*model, 3);
    return model;
  }
  // Variables with the numbers that the packed weights hold.
  static std::unique_ptr<Model> rounded() {
    auto model = made();
    model->for_each_parameter([](const std::string&, const Parameter& p) {
      if (p.is_matrix()) p.mutable_value().copy_from(p.value().to(element_type(format())).to(DType::f32));
    });
    return model;
  }
  static CrossEntropy loss(Model& model, const std::vector<int32_t>& ids = {1, 2, 3, 319, 5, 6}) {
    const int64_t rows = std::ssize(ids) / 3;
    const Tensor source = Tensor::from(ids, {rows, 3});
    const std::vector<int32_t> lengths(static_cast<size_t>(rows), 3);
    Pass pass;
    if (auto* pairs = dynamic_cast<EncoderDecoder*>(&model))
      return pairs->loss(source, lengths, source, source, {}, pass);
    if (auto* causal = dynamic_cast<CausalTransformer*>(&model)) return causal->loss(source, source, {}, pass);
    return dynamic_cast<MaskedTransformer&>(model).loss(source, lengths, source, {}, pass);
  }
  static fs::path folder(const char* name) {
    return fs::path(testing::TempDir()) / fmt::format("packed_model.{}.{}.{}.{}.{}", ::getpid(), name_of(format()),
                                                      name_of(kind().architecture), name_of(kind().tie), name);
  }
};

TEST_P(PackedModel, HasTheLossOfTheSameNumbersBitForBit) {
  const NoGrad guard;
  const auto model = rounded(), packed = made();
  packed->pack_for_inference(format());
  const Tensor expected = loss(*model).token_losses, got = loss(*packed).token_losses;
  for (int64_t i = 0; i < expected.numel(); ++i) EXPECT_EQ(got.data<float>()[i], expected.data<float>()[i]) << i;
}

TEST_P(PackedModel, ARowHasTheSameBitsInAnyBatch) {
  const NoGrad guard;
  const auto packed = made();
  packed->pack_for_inference(format());
  std::vector<int32_t> many;
  for (int32_t row = 0; row < 9; ++row) many.insert(many.end(), {4 + row, 300 - row, 7 * row + 5});
  const Tensor all = loss(*packed, many).token_losses;
  for (int64_t row = 0; row < 9; ++row) {
    const auto first = many.begin() + row * 3;
    const Tensor one = loss(*packed, {first, first + 3}).token_losses;
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(one.data<float>()[i], all.data<float>()[row * 3 + i]) << row;
  }
}

TEST_P(PackedModel, HoldsItsWeightsOnceInTheirFormat) {
  const NoGrad guard;
  const int64_t before = storage_statistics().used_bytes;
  const auto model = made();
  model->pack_for_inference(format());
  const int64_t held = storage_statistics().used_bytes - before;
  int64_t weights = 0, rest = 0;
  model->for_each_parameter(
      [&](const std::string&, const Parameter& p) { (p.is_matrix() ? weights : rest) += p.shape().numel(); });
  const int64_t expected = bytes_of(format(), weights) + 4 * rest;
  EXPECT_GE(held, expected);
  EXPECT_LE(held, expected + expected / 6) << "panels and size classes";
  EXPECT_GT(weights, 10 * rest);
}

TEST_P(PackedModel, IsSavedInItsFormat) {
  const auto model = rounded();
  save_model(folder("before"), *model);
  model->pack_for_inference(format());
  save_model(folder("after"), *model);
  const std::string before = read_file(folder("before") / "model.safetensors"),
                    after = read_file(folder("after") / "model.safetensors");
  if (format() == WeightFormat::f32)
    EXPECT_EQ(before, after);
  else
    EXPECT_LT(static_cast<double>(after.size()), 0.56 * static_cast<double>(before.size()));
  const NamedTensors x = parameters_of(*read_model(folder("before")).model),
                     y = parameters_of(*read_model(folder("after")).model);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(same_bits(x[i].second, y[i].second)) << x[i].first;
  fs::remove_all(folder("before"));
  fs::remove_all(folder("after"));
}

TEST_P(PackedModel, IsReadIntoTheFormatThatItIsStoredInOrAnother) {
  const NoGrad guard;
  const auto model = rounded();
  model->pack_for_inference(format());
  save_model(folder("stored"), *model);
  const auto formats_of = [&](const InferenceOptions& options) {
    std::set<WeightFormat> formats;
    const auto read = read_model_for_inference(folder("stored"), options).model;
    read->for_each_parameter([&](const std::string&, const Parameter& p) {
      if (p.is_matrix()) formats.insert(p.weight().format());
    });
    const bool rounds = format() == WeightFormat::f32 && options.weights == WeightFormat::bf16;
    EXPECT_EQ(same_bits(loss(*read).token_losses, loss(*model).token_losses), !rounds);
    return formats;
  };
  EXPECT_EQ(formats_of({}), std::set{format()});
  for (const WeightFormat asked : {WeightFormat::f32, WeightFormat::bf16})
    EXPECT_EQ(formats_of({.weights = asked}), std::set{asked});
  fs::remove_all(folder("stored"));
}

TEST_P(PackedModel, ReportsThatItHasNoGradients) {
  const auto model = made();
  model->pack_for_inference(format());
  try {
    loss(*model).loss.backward();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is packed for inference, which has no gradients"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(model->visit([](const std::string&, Variable&) {}), Error) << "there are no variables to train";
}

INSTANTIATE_TEST_SUITE_P(OfEveryArchitecture, PackedModel,
                         testing::Combine(testing::Values(Kind{Architecture::encoder_decoder},
                                                          Kind{Architecture::encoder_decoder, Tie::none},
                                                          Kind{Architecture::encoder_decoder, Tie::target},
                                                          Kind{Architecture::causal}, Kind{Architecture::masked},
                                                          Kind{Architecture::bahdanau, Tie::none},
                                                          Kind{Architecture::luong, Tie::none}),
                                          testing::Values(WeightFormat::f32, WeightFormat::bf16)));

}  // namespace qkv::packed_model_test
