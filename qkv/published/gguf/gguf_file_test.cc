#include "qkv/published/gguf/gguf_file.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/gguf/gguf_bytes_test.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::gguf_file_test {
namespace {

using test::floats;
using test::GgufBytes;

GgufFile opened(const std::string& bytes) {
  const test::ScratchFolder scratch;
  write_file(scratch.path() / "x.gguf", bytes);
  return GgufFile::load(scratch.path() / "x.gguf");
}
// Without the path of the file; "" if it is one.
std::string error_in(const std::string& bytes) {
  try {
    opened(bytes);
    return "";
  } catch (const InputError& error) {
    const std::string text = error.what();
    return text.substr(text.find("x.gguf: ") + 8);
  }
}
void expect_says(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), text.npos) << "'" << text << "' does not say '" << part << "'";
}

GgufBytes small() {
  GgufBytes file;
  file.text("general.architecture", "llama").count("llama.block_count", 2);
  file.tensor("a", {4, 2}, 0, floats(8)).tensor("b", {3}, 0, floats(3));
  return file;
}

TEST(GgufFile, ReadsKeysAndTensorsOfVersions2And3) {
  for (const uint32_t version : {2u, 3u}) {
    GgufBytes bytes = small();
    bytes.version = version;
    bytes.number<float>("x.real", GgufType::f32, 0.5f).number<int8_t>("x.signed", GgufType::i8, -3);
    bytes.number<uint8_t>("x.flag", GgufType::boolean, 1).texts("x.texts", {"a", "", "b c"});
    bytes.numbers<int32_t>("x.numbers", GgufType::i32, {1, -2});
    const GgufFile file = opened(bytes.bytes());
    const GgufMetadata& metadata = file.metadata();
    EXPECT_EQ(metadata.text("general.architecture"), "llama");
    EXPECT_EQ(metadata.integer("llama.block_count"), 2);
    EXPECT_EQ(metadata.number("x.real"), 0.5);
    EXPECT_EQ(metadata.integer("x.signed"), -3);
    EXPECT_TRUE(metadata.flag("x.flag", false));
    EXPECT_EQ(metadata.texts("x.texts"), (std::vector<std::string>{"a", "", "b c"}));
    EXPECT_EQ(metadata.integers("x.numbers"), (std::vector<int64_t>{1, -2}));
    EXPECT_EQ(metadata.numbers("x.numbers"), (std::vector<double>{1, -2}));
    EXPECT_EQ(metadata.integer("absent", 7), 7);
    const Tensor a = file.get("a").numbers();
    EXPECT_EQ(a.shape(), (Shape{2, 4}));  // the innermost axis is the last
    EXPECT_EQ(a.at<float>({1, 2}), 0.75f);
    EXPECT_EQ(file.get("b").numbers().at<float>({2}), 0.25f);
    EXPECT_EQ(file.get("a").format(), WeightFormat::f32);
  }
}

TEST(GgufFile, MappedTensorsAreTheSame) {
  const test::ScratchFolder scratch;
  write_file(scratch.path() / "x.gguf", small().bytes());
  GgufFile file = GgufFile::load(scratch.path() / "x.gguf");
  file.map();
  const Tensor a = file.get("a").numbers();
  EXPECT_FALSE(a.storage()->writable());
  EXPECT_EQ(a.at<float>({1, 2}), 0.75f);
}

TEST(GgufFile, ValuesOfAnotherTypeAreNamed) {
  const GgufFile file = opened(small().text("x", "y").bytes());
  const auto error_of = [&](const std::function<void(const GgufMetadata&)>& read) {
    try {
      read(file.metadata());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_says(error_of([](const auto& m) { m.integer("x"); }), "'x' must be an integer, got 'y'");
  expect_says(error_of([](const auto& m) { m.texts("x"); }), "'x' must be an array, got 'y'");
  expect_says(error_of([](const auto& m) { m.text("llama.block_count"); }), "must be a string, got 2");
  expect_says(error_of([](const auto& m) { m.text("absent"); }), "there is no key 'absent'");
}

TEST(GgufFile, RefusesOtherFilesByName) {
  GgufBytes file = small();
  file.magic = "GGML";
  expect_says(error_in(file.bytes()), "must begin with GGUF");
  file = small();
  file.version = 1;
  expect_says(error_in(file.bytes()), "must be 2 or 3, got 1");
  file.version = 0x03000000;
  expect_says(error_in(file.bytes()), "big-endian");
}

TEST(GgufFile, EveryShorterFileIsAnError) {
  const std::string whole = small().texts("x", {"a", "b"}).bytes();
  EXPECT_EQ(error_in(whole), "");
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_NE(error_in(whole.substr(0, size)), "") << size;
}

TEST(GgufFile, RefusesWhatIsThereTwice) {
  expect_says(error_in(small().count("llama.block_count", 3).bytes()), "'llama.block_count' is there twice");
  expect_says(error_in(small().tensor("a", {1}, 0, floats(1)).bytes()), "'a' is there twice");
}

TEST(GgufFile, RefusesTensorsThatLieElsewhere) {
  expect_says(error_in(small().entry("c", {4}, 0, 0).bytes()), "overlap");
  expect_says(error_in(small().entry("c", {1}, 0, 4).bytes()), "must begin at a multiple of 32");
  expect_says(error_in(small().entry("c", {16}, 0, 32).bytes()), "tensor 'c' ends at byte");
  expect_says(error_in(small().entry("c", {1}, 0, uint64_t{1} << 63).bytes()), "beyond the end");
}

TEST(GgufFile, RefusesShapesThatNoFileHolds) {
  constexpr uint64_t large = uint64_t{1} << 33;
  expect_says(error_in(small().entry("c", {large, large}, 0, 64).bytes()), "does not fit");
  expect_says(error_in(small().entry("c", {0}, 0, 64).bytes()), "an axis of 0");
  expect_says(error_in(small().entry("c", {1, 1, 1, 1, 1}, 0, 64).bytes()), "must have 1 to 4 axes, got 5");
  expect_says(error_in(small().entry("c", {}, 0, 64).bytes()), "must have 1 to 4 axes, got 0");
  expect_says(error_in(small().entry("c", {48}, 8, 64).bytes()), "must be multiples of 32 numbers, got 48");
}

TEST(GgufFile, OtherTypesOfTensorsAreNamedWithTheSupportedOnes) {
  expect_says(error_in(small().entry("c", {256}, 22, 64).bytes()), "tensor 'c' is IQ2_S; supported are F32, F16");
  expect_says(error_in(small().entry("c", {256}, 77, 64).bytes()), "of type 77, which is not known");
}

TEST(GgufFile, RefusesCountsLengthsAndTypesOfKeys) {
  expect_says(error_in(small().key("x", GgufType{13}, "").bytes()), "must be 0 to 12, got 13");
  expect_says(error_in(small().number<uint8_t>("x", GgufType::boolean, 2).bytes()), "must be 0 or 1, got 2");
  std::string long_array;
  GgufBytes::put(long_array, uint32_t{0});
  GgufBytes::put(long_array, uint64_t{1} << 60);
  expect_says(error_in(small().key("x", GgufType::array, long_array).bytes()), "the number of items");
  std::string long_text;
  GgufBytes::put(long_text, std::numeric_limits<uint64_t>::max());
  expect_says(error_in(small().key("x", GgufType::text, long_text).bytes()), "bytes long");
  expect_says(error_in(small().text("\xff", "y").bytes()), "not UTF-8");
  expect_says(error_in(small().text("", "y").bytes()), "is empty");
  expect_says(error_in(small().tensor("\xff", {1}, 0, floats(1)).bytes()), "not UTF-8");
}

TEST(GgufFile, ArraysOfArraysAreReadOverToADepth) {
  const auto nested = [](int depth) {
    std::string value;
    for (int i = 1; i < depth; ++i) {
      GgufBytes::put(value, static_cast<uint32_t>(GgufType::array));
      GgufBytes::put(value, uint64_t{1});
    }
    GgufBytes::put(value, static_cast<uint32_t>(GgufType::u8));
    GgufBytes::put(value, uint64_t{1});
    return value + '\7';
  };
  EXPECT_EQ(error_in(small().key("x", GgufType::array, nested(4)).bytes()), "");
  expect_says(error_in(small().key("x", GgufType::array, nested(5)).bytes()), "nested");
}

TEST(GgufFile, TheAlignmentIsAPowerOfTwo) {
  expect_says(error_in(small().count("general.alignment", 48).bytes()), "a power of two");
  expect_says(error_in(small().count("general.alignment", 0).bytes()), "a power of two");
  GgufBytes file;
  file.alignment = 1;
  file.count("general.alignment", 1).tensor("a", {3}, 1, std::string("\x00\x3c\x00\xc0\xff\x7b", 6));
  file.tensor("b", {2}, 0, floats(2)).tensor("c", {2}, 30, std::string("\x80\x3f\x00\xc0", 4));
  const GgufFile opened_file = opened(file.bytes());
  EXPECT_EQ(opened_file.get("a").numbers().at<float>({2}), 65504.0f);  // f16
  EXPECT_EQ(opened_file.get("b").numbers().at<float>({1}), 0.125f);    // anywhere
  EXPECT_EQ(opened_file.get("c").format(), WeightFormat::bf16);
  EXPECT_EQ(static_cast<float>(opened_file.get("c").numbers().at<bfloat16>({1})), -2.0f);
}

TEST(GgufFile, BlocksAreGivenAsTheyAre) {
  std::string block("\x00\x38", 2);  // d = 0.5
  for (int i = 0; i < 32; ++i) block.push_back(static_cast<char>(i - 16));
  GgufBytes bytes;
  bytes.tensor("q", {32, 3}, 8, block + block + block).tensor("three axes", {32, 1, 2}, 8, block + block);
  const GgufFile file = opened(bytes.bytes());
  const StoredValues rows = file.get("q");
  EXPECT_EQ(rows.format(), WeightFormat::q8_0);
  EXPECT_EQ(rows.shape(), (Shape{3, 32}));
  EXPECT_EQ(rows.numbers().at<float>({2, 31}), 7.5f);
  const Tensor second = rows.tensor().slice(0, 1, 2);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(second.data<uint8_t>()), 34), block);
  const StoredValues others = file.get("three axes");
  EXPECT_EQ(others.format(), WeightFormat::f32);
  EXPECT_EQ(others.tensor().at<float>({1, 0, 31}), 7.5f);
}

}  // namespace
}  // namespace qkv::gguf_file_test
