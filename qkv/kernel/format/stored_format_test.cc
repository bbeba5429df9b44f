#include "qkv/kernel/format/stored_format.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/tensor/safetensors.h"

namespace qkv::stored_format_test {
namespace {

std::vector<const StoredFormat*> all_formats() {
  std::vector<const StoredFormat*> out;
  for (const auto& [format, name] : names_of(WeightFormat{}))
    if (has_blocks(format)) out.push_back(&stored_format(format));
  return out;
}

// test/gguf/make_formats.py
const SafetensorsFile& fixture() {
  static const SafetensorsFile file = SafetensorsFile::load(QKV_SOURCE_DIR "/test/gguf/formats.safetensors");
  return file;
}
std::vector<uint32_t> bits_of(std::span<const float> x) {
  std::vector<uint32_t> out;
  for (const float v : x) out.push_back(std::bit_cast<uint32_t>(v));
  return out;
}
template <class T>
std::span<const T> numbers(const Tensor& tensor) {
  return {tensor.data<T>(), static_cast<size_t>(tensor.numel())};
}

std::vector<float> random_numbers(size_t n, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> out(n);
  // A sum of four uniform numbers: nearly normal, and the same with every standard library.
  for (float& x : out) {
    x = 0;
    for (int i = 0; i < 4; ++i) x += static_cast<float>(engine() >> 8) * 0x1p-24f - 0.5f;
  }
  return out;
}

std::vector<float> round_trip(const StoredFormat& format, const std::vector<float>& x) {
  const auto K = static_cast<int64_t>(x.size());
  std::vector<uint8_t> bytes(static_cast<size_t>(row_bytes(format, K)));
  EXPECT_TRUE(encode_row(format, x.data(), K, bytes.data())) << format.name;
  std::vector<float> y(x.size());
  decode_row(format, bytes.data(), K, y.data());
  return y;
}

double square_error(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
  return sum;
}

TEST(StoredFormat, EveryFormatHasTheNameAndTheBlockOfItsWeightFormat) {
  EXPECT_EQ(all_formats().size(), 12u);
  for (const StoredFormat* format : all_formats()) {
    EXPECT_EQ(format->name, name_of(format->format));
    EXPECT_EQ(row_bytes(*format, 512), bytes_of(format->format, 512)) << format->name;
  }
  EXPECT_EQ(bytes_of(WeightFormat::q6_k, 512), 420);
  EXPECT_EQ(bytes_of(WeightFormat::q8_0, 64), 68);
  EXPECT_THROW(stored_format(WeightFormat::bf16), Error);
  EXPECT_THROW(row_bytes(stored_format(WeightFormat::q4_k), 128), Error);
}

TEST(StoredFormat, DecodesTheBitsOfTheGgufPackage) {
  for (const StoredFormat* format : all_formats()) {
    const Tensor bytes = fixture().get(std::string(format->name) + ".bytes"),
                 expected = fixture().get(std::string(format->name) + ".values");
    std::vector<float> y(static_cast<size_t>(expected.numel()));
    decode_row(*format, bytes.data<uint8_t>(), expected.numel(), y.data());
    EXPECT_EQ(bits_of(y), bits_of(numbers<float>(expected))) << format->name;
  }
}

TEST(StoredFormat, TakingABlockApartLosesNothing) {
  std::mt19937 engine(8);
  for (const StoredFormat* format : all_formats())
    for (int round = 0; round < 50; ++round) {
      std::vector<uint8_t> bytes(static_cast<size_t>(format->block_bytes)), again(bytes.size());
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine() >> 24);
      BlockNumbers numbers;
      format->take_apart(bytes.data(), numbers);
      format->put_together(numbers, again.data());
      EXPECT_EQ(again, bytes) << format->name;
    }
}

TEST(StoredFormat, EncodesTheBytesOfTheGgufPackage) {
  const Tensor x = fixture().get("x");
  for (const WeightFormat of :
       {WeightFormat::q8_0, WeightFormat::q4_0, WeightFormat::q4_1, WeightFormat::q5_0, WeightFormat::q5_1}) {
    const StoredFormat& format = stored_format(of);
    const Tensor expected = fixture().get(std::string(format.name) + ".encoded");
    std::vector<uint8_t> bytes(static_cast<size_t>(expected.numel()));
    ASSERT_TRUE(encode_row(format, x.data<float>(), x.numel(), bytes.data()));
    const std::span<const uint8_t> given = numbers<uint8_t>(expected);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), given.begin(), given.end())) << format.name;
  }
}

// x of one part rounded with its own maximum and minimum, and scales that are not rounded at all.
double plain_error(std::span<const float> x, int low, int high, bool offset) {
  float low_end = 0, high_end = 0, magnitude = 0;
  for (const float v : x)
    low_end = std::min(low_end, v), high_end = std::max(high_end, v), magnitude = std::max(magnitude, std::fabs(v));
  const float scale =
      offset ? (high_end - low_end) / static_cast<float>(high) : magnitude / static_cast<float>(-low);
  double sum = 0;
  for (const float v : x) {
    const float zero = offset ? low_end : 0;
    const float q =
        std::clamp(std::nearbyint((v - zero) / scale), static_cast<float>(low), static_cast<float>(high));
    const double difference = double{v} - (q * scale + zero);
    sum += difference * difference;
  }
  return sum;
}

TEST(StoredFormat, TheSearchedScalesAreBetterThanMaximumAndMinimum) {
  struct Plain {
    WeightFormat format;
    size_t width;
    int low, high;
    bool offset;
  };
  for (const Plain& plain :
       {Plain{WeightFormat::q2_k, 16, 0, 3, true}, Plain{WeightFormat::q3_k, 16, -4, 3, false},
        Plain{WeightFormat::q4_k, 32, 0, 15, true}, Plain{WeightFormat::q5_k, 32, 0, 31, true},
        Plain{WeightFormat::q6_k, 16, -32, 31, false}, Plain{WeightFormat::iq4_nl, 32, -8, 7, false},
        Plain{WeightFormat::iq4_xs, 32, -8, 7, false}})
    for (const float centre : {0.f, 0.4f}) {
      std::vector<float> x = random_numbers(8 * 256, 3);
      for (float& v : x) v = 0.02f * (v + centre);
      double expected = 0;
      for (size_t at = 0; at < x.size(); at += plain.width)
        expected += plain_error(std::span(x).subspan(at, plain.width), plain.low, plain.high, plain.offset);
      EXPECT_LT(square_error(x, round_trip(stored_format(plain.format), x)), expected) << name_of(plain.format);
    }
}

// How large errors are at all: a mistake in the layout of a format gives errors as large as the numbers.
TEST(StoredFormat, ErrorsAreAsSmallAsTheBitsAllow) {
  const std::vector<float> x = random_numbers(16 * 256, 4), zero(x.size(), 0.f);
  const auto relative = [&](WeightFormat format) {
    return std::sqrt(square_error(x, round_trip(stored_format(format), x)) / square_error(x, zero));
  };
  EXPECT_LT(relative(WeightFormat::q8_0), 0.006);
  EXPECT_LT(relative(WeightFormat::q6_k), 0.018);
  EXPECT_LT(relative(WeightFormat::q5_k), 0.036);
  EXPECT_LT(relative(WeightFormat::q4_k), 0.073);
  EXPECT_LT(relative(WeightFormat::iq4_nl), 0.076);
  EXPECT_LT(relative(WeightFormat::iq4_xs), 0.077);
  EXPECT_LT(relative(WeightFormat::q3_k), 0.15);
  EXPECT_LT(relative(WeightFormat::q2_k), 0.28);
}

TEST(StoredFormat, RefusesNumbersThatItCannotHold) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const StoredFormat* format : all_formats())
    for (const float bad : {std::nanf(""), infinity, -infinity, 3e38f, -1e9f})
      for (const size_t at : {size_t{0}, size_t{7}, size_t{511}}) {
        std::vector<float> x = random_numbers(512, 5);
        x[at] = bad;
        std::vector<uint8_t> bytes(static_cast<size_t>(row_bytes(*format, 512)));
        EXPECT_FALSE(encode_row(*format, x.data(), 512, bytes.data()))
            << format->name << " " << bad << " at " << at;
      }
}

TEST(StoredFormat, ZerosStayZerosAndSoDoNumbersBelowF16) {
  for (const StoredFormat* format : all_formats())
    for (const float size : {0.f, 1e-42f, 1e-20f}) {
      std::vector<float> x = random_numbers(256, 6);
      for (float& v : x) v *= size;
      for (const float y : round_trip(*format, x)) EXPECT_EQ(y, 0) << format->name << " " << size;
    }
}

// Golden checksums: encoders have the same bits on every machine and compiler. A better search changes them on purpose.
TEST(StoredFormat, EncodedBytesAreTheSameOnEveryMachine) {
  const std::vector<float> x = random_numbers(8 * 256, 7);
  const auto sum_of = [&](WeightFormat format) {
    const StoredFormat& f = stored_format(format);
    std::vector<uint8_t> bytes(static_cast<size_t>(row_bytes(f, std::ssize(x))));
    EXPECT_TRUE(encode_row(f, x.data(), std::ssize(x), bytes.data()));
    return std::accumulate(bytes.begin(), bytes.end(), uint32_t{2166136261},
                           [](uint32_t hash, uint8_t byte) { return (hash ^ byte) * 16777619u; });
  };
  EXPECT_EQ(sum_of(WeightFormat::q2_k), 446963282u);
  EXPECT_EQ(sum_of(WeightFormat::q3_k), 1092891571u);
  EXPECT_EQ(sum_of(WeightFormat::q4_k), 2118443529u);
  EXPECT_EQ(sum_of(WeightFormat::q5_k), 736647359u);
  EXPECT_EQ(sum_of(WeightFormat::q6_k), 2535989215u);
  EXPECT_EQ(sum_of(WeightFormat::iq4_nl), 4149347623u);
  EXPECT_EQ(sum_of(WeightFormat::iq4_xs), 188710519u);
}

}  // namespace
}  // namespace qkv::stored_format_test
