// Models of every architecture whose weights are packed for inference, in every number format: the results of the same
// numbers as variables, less memory, no gradients.
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/layer/layer_test.h"
#include "qkv/model/causal.h"
#include "qkv/model/encoder_decoder.h"
#include "qkv/model/make_model.h"
#include "qkv/model/masked.h"
#include "qkv/published/load_model.h"
#include "qkv/published/model_folder.h"
#include "qkv/tensor/safetensors.h"
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
  static ModelConfig config() {
    const auto [architecture, tie] = kind();
    constexpr int64_t V = 320, C = 64;
    if (is_recurrent(architecture))
      return RecurrentConfig{.architecture = architecture,
                             .source_vocabulary = V,
                             .target_vocabulary = V,
                             .d_model = C,
                             .encoder_layers = 2,
                             .decoder_layers = architecture == Architecture::bahdanau ? 1 : 2,
                             .tie = tie};
    return TransformerConfig{.architecture = architecture,
                             .source_vocabulary = V,
                             .target_vocabulary = V,
                             .d_model = C,
                             .heads = 4,
                             .ffn = 128,
                             .encoder_layers = 2,
                             .decoder_layers = 2,
                             .tie = tie};
  }
  static std::unique_ptr<Model> made() {
    std::unique_ptr<Model> model = make_model(config());
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
  static void expect_same_bits_in_any_batch(Precision precision = Precision::f32) {
    const NoGrad guard;
    const auto packed = made();
    packed->pack_for_inference(format(), precision);
    std::vector<int32_t> many;
    for (int32_t row = 0; row < 9; ++row) many.insert(many.end(), {4 + row, 300 - row, 7 * row + 5});
    const Tensor all = loss(*packed, many).token_losses;
    for (int64_t row = 0; row < 9; ++row) {
      const auto first = many.begin() + row * 3;
      const Tensor one = loss(*packed, {first, first + 3}).token_losses;
      for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(one.data<float>()[i], all.data<float>()[row * 3 + i]) << row;
    }
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
  expect_same_bits_in_any_batch();
  expect_same_bits_in_any_batch(Precision::bf16);
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

// Quantised formats: near to the model, and the same after saving and reading.
class QuantisedModel : public PackedModel {};

TEST_P(QuantisedModel, ARowHasTheSameBitsInAnyBatch) { expect_same_bits_in_any_batch(); }

// Random weights without training: recurrent states amplify what is rounded.
TEST_P(QuantisedModel, HasNearlyTheLossOfTheModel) {
  const NoGrad guard;
  const auto model = made(), packed = made();
  packed->pack_for_inference(format());
  const Tensor expected = loss(*model).token_losses, got = loss(*packed).token_losses;
  double difference = 0, size = 0;
  for (int64_t i = 0; i < expected.numel(); ++i) {
    difference += std::abs(double{got.data<float>()[i]} - expected.data<float>()[i]);
    size += expected.data<float>()[i];
  }
  EXPECT_LT(difference, 0.1 * size);
}

TEST_P(QuantisedModel, IsSavedInTheSizeOfItsFormatAndReadBackAsItIs) {
  const NoGrad guard;
  const auto model = made();
  model->pack_for_inference(format());
  save_model(folder("saved"), *model);
  int64_t weights = 0, rest = 0;
  model->for_each_parameter(
      [&](const std::string&, const Parameter& p) { (p.is_matrix() ? weights : rest) += p.shape().numel(); });
  const auto size = static_cast<int64_t>(fs::file_size(folder("saved") / "model.safetensors"));
  EXPECT_LT(size, bytes_of(WeightFormat::q8_0, weights) + 4 * rest + 20'000);
  EXPECT_EQ(open_model_folder(folder("saved"))->stored_weights(), held_weights(*model));
  const auto read = read_model_for_inference(folder("saved")).model,
             mapped = read_model_for_inference(folder("saved"), {.map = true}).model;
  EXPECT_TRUE(same_bits(loss(*read).token_losses, loss(*model).token_losses));
  EXPECT_TRUE(same_bits(loss(*mapped).token_losses, loss(*model).token_losses));
  save_model(folder("again"), *read);
  EXPECT_EQ(read_file(folder("again") / "model.safetensors"), read_file(folder("saved") / "model.safetensors"));
  fs::remove_all(folder("saved"));
  fs::remove_all(folder("again"));
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryArchitecture, QuantisedModel,
    testing::Combine(testing::Values(Kind{Architecture::encoder_decoder}, Kind{Architecture::causal},
                                     Kind{Architecture::masked}, Kind{Architecture::bahdanau, Tie::none},
                                     Kind{Architecture::luong, Tie::none}),
                     testing::Values(WeightFormat::int8, WeightFormat::q8_0, WeightFormat::q5_k)));

// What a file claims about its quantised tensors is checked.
TEST(QuantisedFile, EveryWrongClaimIsAnErrorThatNamesTheTensor) {
  const auto path = fs::path(testing::TempDir()) / fmt::format("quantised_file.{}", ::getpid());
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = 64;
  c.d_model = 32, c.heads = 2, c.ffn = 64, c.decoder_layers = 1;
  const auto model = make_model(c);
  model->initialise("", 1);
  model->pack_for_inference(WeightFormat::q4_0);
  save_model(path, *model);
  const auto file = SafetensorsFile::load(path / "model.safetensors");
  NamedTensors tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.get(name));
  const auto message = [&](const std::string& formats, const NamedTensors& with) -> std::string {
    auto metadata = file.metadata();
    metadata["weight_formats"] = formats;
    save_safetensors(path / "model.safetensors", with, metadata);
    try {
      read_model_for_inference(path);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const auto expect = [](const std::string& got, const std::string& part) {
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  const std::string embedding = "embedding.tokens", right = file.metadata().at("weight_formats");
  EXPECT_EQ(message(right, tensors), "no error");
  expect(message("[]", tensors), "model.safetensors");
  expect(message("{\"embedding.tokens\": 4}", tensors), "must be the name of a format");
  expect(message("{\"embedding.tokens\": \"q9\"}", tensors), "weight_formats must be one of");
  expect(message("{\"embedding.tokens\": \"f32\"}", tensors), "must be a quantised format");
  expect(message("{\"embedding.tokens\": \"q4_k\"}", tensors), "are not whole blocks of q4_k");
  expect(message("{\"embedding.tokens\": \"q8_0\"}", tensors), "(64, 34)");
  NamedTensors damaged = tensors;
  for (auto& [name, tensor] : damaged)
    if (name == embedding) {
      tensor = tensor.contiguous_copy();
      tensor.data<uint8_t>()[18 * 5 + 1] = 0x7c;  // the scale of a block becomes infinite
    }
  expect(message(right, damaged), "'embedding.tokens' has a scale that is not finite");
  fs::remove_all(path);
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
