// Folders whose matrices are integers with scales: their values are those of the definition, held as they are stored.
#include "qkv/published/huggingface/quantized_matrices.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "qkv/base/random.h"
#include "qkv/published/published_folder_test.h"

namespace qkv::quantized_matrices_test {

namespace fs = std::filesystem;

// A tensor as bytes of a file.
struct Stored {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};
using File = std::map<std::string, Stored>;

template <class Number>
Stored stored(const char* dtype, std::vector<int64_t> shape, const std::vector<Number>& numbers) {
  return {dtype, std::move(shape),
          std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number))};
}
Stored integers(int64_t N, int64_t K, const std::vector<int8_t>& numbers) { return stored("I8", {N, K}, numbers); }
Stored floats(std::vector<int64_t> shape, const std::vector<float>& numbers) {
  return stored("F32", std::move(shape), numbers);
}
// `bits` of each number, from the low bits of a word up.
Stored packed(int bits, int64_t N, int64_t K, const std::vector<int8_t>& numbers) {
  const int64_t in_a_word = 32 / bits, words = (K + in_a_word - 1) / in_a_word;
  std::vector<uint32_t> out(static_cast<size_t>(N * words));
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k)
      out[static_cast<size_t>(n * words + k / in_a_word)] |=
          static_cast<uint32_t>(numbers[static_cast<size_t>(n * K + k)] + (1 << (bits - 1)))
          << bits * (k % in_a_word);
  return stored("I32", {N, words}, out);
}
Stored sizes(int64_t N, int64_t K) { return stored<int64_t>("I64", {2}, {N, K}); }

void write(const fs::path& path, const File& file) {
  nlohmann::ordered_json header;
  std::string data;
  for (const auto& [name, tensor] : file) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::ofstream(path, std::ios::binary) << std::string(reinterpret_cast<const char*>(&size), 8) << text << data;
}

std::vector<int8_t> random_integers(int64_t count, int low, int high) {
  Random random(3, static_cast<uint64_t>(count));
  std::vector<int8_t> out(static_cast<size_t>(count));
  for (int8_t& x : out)
    x = static_cast<int8_t>(low + static_cast<int>(random.uniform() * static_cast<float>(high - low + 1)));
  return out;
}
// With few digits: exact as f16.
std::vector<float> short_scales(int64_t count) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<float>(1 + i % 7) * 0x1p-8f);
  return out;
}

class QuantizedMatrices : public testing::Test {
 protected:
  StoredValues read(const File& file) {
    write(scratch_.path() / "model.safetensors", file);
    PublishedTensors tensors = PublishedTensors::open(scratch_.path());
    tensors.compose(quantized_matrices(tensors));
    EXPECT_EQ(tensors.names(), std::vector<std::string>{"x.weight"});
    return tensors.get("x.weight");
  }
  std::string error(const File& file) {
    try {
      read(file);
    } catch (const InputError& e) {
      const std::string text = e.what();
      return text.substr(text.find("model.safetensors"));
    }
    return "";
  }
  static void expect_values(const StoredValues& values, WeightFormat format, int64_t N, int64_t K,
                            const std::vector<int8_t>& numbers, const std::vector<float>& scales) {
    EXPECT_EQ(values.format(), format);
    ASSERT_EQ(values.shape(), (Shape{N, K}));
    const Tensor got = values.numbers();
    const int64_t groups = std::max<int64_t>(1, std::ssize(scales) / N);
    for (int64_t i = 0; i < N * K; ++i) {
      const int64_t scale = scales.size() == 1 ? 0 : i / K * groups + i % K / (K / groups);
      ASSERT_EQ(got.data<float>()[i],
                static_cast<float>(numbers[static_cast<size_t>(i)]) * scales[static_cast<size_t>(scale)])
          << i;
    }
  }

  test::ScratchFolder scratch_;
};

TEST_F(QuantizedMatrices, BytesWithAScaleForEachRowAreInt8) {
  const int64_t N = 5, K = 40;
  const auto numbers = random_integers(N * K, -128, 127);
  const std::vector<float> scales = {0.1f, 0.2f, 0.3f, 1e-5f, 7};
  expect_values(read({{"x.weight", integers(N, K, numbers)}, {"x.weight_scale", floats({N, 1}, scales)}}),
                WeightFormat::int8, N, K, numbers, scales);
  expect_values(read({{"x.weight", integers(N, K, numbers)}, {"x.weight_scale", floats({1}, {0.1f})}}),
                WeightFormat::int8, N, K, numbers, {0.1f});
  expect_values(read({{"x.weight_packed", packed(8, N, K, numbers)},
                      {"x.weight_scale", floats({N, 1}, scales)},
                      {"x.weight_shape", sizes(N, K)}}),
                WeightFormat::int8, N, K, numbers, scales);
}

TEST_F(QuantizedMatrices, BitsandbytesStoresTheLargestMagnitudeOfARow) {
  const int64_t N = 3, K = 17;
  const auto numbers = random_integers(N * K, -127, 127);
  const std::vector<float> largest = {0.5f, 127, 3};
  std::vector<float> scales = largest;
  for (float& x : scales) x /= 127;
  expect_values(read({{"x.weight", integers(N, K, numbers)},
                      {"x.SCB", floats({N}, largest)},
                      {"x.weight_format", stored<uint8_t>("U8", {}, {0})}}),
                WeightFormat::int8, N, K, numbers, scales);
}

TEST_F(QuantizedMatrices, GroupsAreBlocksWhereTheirScalesAreExactAsF16) {
  const int64_t N = 4, K = 256;
  const auto small = random_integers(N * K, -8, 7), large = random_integers(N * K, -128, 127);
  for (const int64_t groups : {1, 2, 8}) {
    const std::vector<float> scales = short_scales(N * groups);
    const File four = {{"x.weight_packed", packed(4, N, K, small)},
                       {"x.weight_scale", floats({N, groups}, scales)},
                       {"x.weight_shape", sizes(N, K)}};
    expect_values(read(four), WeightFormat::q4_0, N, K, small, scales);
    if (groups == 1) continue;
    const File eight = {{"x.weight_packed", packed(8, N, K, large)},
                        {"x.weight_scale", floats({N, groups}, scales)},
                        {"x.weight_shape", sizes(N, K)}};
    expect_values(read(eight), WeightFormat::q8_0, N, K, large, scales);
    expect_values(read({{"x.weight", integers(N, K, large)}, {"x.weight_scale", floats({N, groups}, scales)}}),
                  WeightFormat::q8_0, N, K, large, scales);
  }
}

TEST_F(QuantizedMatrices, OtherScalesAndGroupsAreHeldAsFloatsWithoutLoss) {
  const int64_t N = 2, K = 64;
  const auto numbers = random_integers(N * K, -8, 7);
  const auto file = [&](int64_t columns, const std::vector<float>& scales) {
    return File{{"x.weight_packed", packed(4, N, columns, numbers)},
                {"x.weight_scale", floats({N, std::ssize(scales) / N}, scales)},
                {"x.weight_shape", sizes(N, columns)}};
  };
  expect_values(read(file(K, {0.1f, 0.2f, 0.3f, 0.4f})), WeightFormat::f32, N, K, numbers,
                {0.1f, 0.2f, 0.3f, 0.4f});
  expect_values(read(file(K, short_scales(8))), WeightFormat::f32, N, K, numbers, short_scales(8));  // groups of 16
  expect_values(read(file(41, short_scales(2))), WeightFormat::f32, N, 41, numbers, short_scales(2));
}

TEST_F(QuantizedMatrices, WhatDoesNotFitTogetherIsRefused) {
  const int64_t N = 2, K = 40;
  const auto numbers = random_integers(N * K, -8, 7);
  const File bytes = {{"x.weight", integers(N, K, numbers)}, {"x.weight_scale", floats({N, 1}, {1, 2})}};
  const File words = {{"x.weight_packed", packed(4, N, K, numbers)},
                      {"x.weight_scale", floats({N, 1}, {1, 2})},
                      {"x.weight_shape", sizes(N, K)}};
  const auto changed = [&](File file, const std::string& name, std::optional<Stored> tensor) {
    file.erase(name);
    if (tensor) file.emplace(name, *tensor);
    return error(file);
  };
  EXPECT_EQ(changed(bytes, "x.weight_zero_point", stored<int8_t>("I8", {N, 1}, {0, 0})), "");
  EXPECT_EQ(changed(bytes, "x.weight_zero_point", stored<int8_t>("I8", {N, 1}, {0, 3})),
            "model.safetensors: tensor 'x.weight_zero_point' is not 0: only symmetric numbers are supported");
  EXPECT_EQ(changed(bytes, "x.input_scale", floats({1}, {1})),
            "model.safetensors: tensor 'x.input_scale' is not supported");
  EXPECT_EQ(changed(bytes, "x.weight_scale", std::nullopt),
            "model.safetensors: tensor 'x.weight' has integers, but no scales 'x.weight_scale'");
  EXPECT_EQ(changed(bytes, "x.weight_scale", floats({N, 2}, {1, 2, 3, 4})),
            "model.safetensors: tensor 'x.weight_scale' is (2, 2), must be (1), (2, 1) or a scale for each group "
            "of 2^n of the 40 columns");
  EXPECT_EQ(changed(words, "x.weight_shape", std::nullopt),
            "model.safetensors: tensor 'x.weight_packed' needs 'x.weight_shape' and 'x.weight_scale'");
  EXPECT_EQ(changed(words, "x.weight_shape", sizes(N, 80)),
            "model.safetensors: tensor 'x.weight_packed' is I32 (2, 5), must be (2, 10) of 4 bits or (2, 20) of 8, "
            "packed into I32");
  EXPECT_EQ(changed(words, "x.weight_shape", floats({2}, {2, 40})),
            "model.safetensors: tensor 'x.weight_shape' must be two integers");
}

// Every matrix of a folder, multiplied as it is stored.
TEST(QuantizedFolder, IsAModelWithTheValuesOfItsIntegers) {
  const test::PublishedFolder quantised("llama"), floats_of_it("llama");
  File file;
  quantised.change_tensors([&](std::map<std::string, Tensor>& tensors) {
    for (const auto& [name, tensor] : tensors) {
      const Tensor x = tensor.to(DType::f32).contiguous_copy();
      const std::vector<float> values(x.data<float>(), x.data<float>() + x.numel());
      const std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
      if (!name.ends_with("_proj.weight")) {
        file[name] = floats(shape, values);
        continue;
      }
      std::vector<int8_t> numbers;
      for (const float v : values) numbers.push_back(static_cast<int8_t>(std::lrint(v * 100)));
      file[name] = integers(shape[0], shape[1], numbers);
      file[name + "_scale"] = floats({1}, {0.01f});
    }
  });
  floats_of_it.change_tensors([&](std::map<std::string, Tensor>& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (!name.ends_with("_proj.weight")) continue;
      for (float& v : tensor.span<float>()) v = static_cast<float>(std::lrint(v * 100)) * 0.01f;
    }
  });
  write(quantised.path() / "model.safetensors", file);
  quantised.change("quantization_config", {{"quant_method", "compressed-tensors"}});
  EXPECT_EQ(open_model_folder(quantised.path())->stored_weights(), WeightFormat::int8);
  const SavedModel read = read_model(quantised.path()), expected = read_model(floats_of_it.path());
  std::map<std::string, Tensor> values;
  expected.model->for_each_parameter(
      [&](const std::string& name, const Parameter& p) { values[name] = p.values(); });
  read.model->for_each_parameter([&](const std::string& name, const Parameter& p) {
    const Tensor x = p.values(), y = values.at(name);
    EXPECT_TRUE(std::ranges::equal(x.span<float>(), y.span<float>())) << name;
  });

  file["model.layers.0.mlp.up_proj.input_scale"] = floats({1}, {1});
  write(quantised.path() / "model.safetensors", file);
  EXPECT_TRUE(
      quantised.error().starts_with("config.json: the weights are quantised by 'compressed-tensors' "
                                    "('quantization_config'), in a way that is not supported: "))
      << quantised.error();
}

}  // namespace qkv::quantized_matrices_test
