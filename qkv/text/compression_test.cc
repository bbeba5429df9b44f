#include "qkv/text/compression.h"

#include <string>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/text/bytes.h"

namespace qkv::compression_test {

std::string frame(Compression kind, const std::string& text) {
  const auto compressor = make_compressor(kind, "test");
  std::string out;
  for (size_t at = 0; at < text.size(); at += 1000) out += compressor->compress(text.substr(at, 1000));
  return out + compressor->finish();
}

std::string read_all(ByteSource& bytes, size_t piece) {
  std::string text, buffer(piece, '\0');
  while (const size_t n = bytes.read(buffer.data(), piece)) text.append(buffer, 0, n);
  return text;
}

std::string words(int count) {
  Random random(1);
  std::string text;
  for (int i = 0; i < count; ++i) text += "word" + std::to_string(random.below(5000)) + (i % 9 ? " " : "\n");
  return text;
}

class Formats : public testing::TestWithParam<Compression> {
 protected:
  void SetUp() override {
    if (GetParam() == Compression::zstd && !has_zstd()) GTEST_SKIP() << "built without libzstd";
  }
};

TEST_P(Formats, FramesOneAfterAnotherAreTheirTextsHoweverTheyAreCut) {
  const std::string a = words(30'000), b = "short\n";
  const std::string file = frame(GetParam(), a) + frame(GetParam(), "") + frame(GetParam(), b);
  EXPECT_LT(file.size(), a.size() / 2);
  for (const size_t in : {size_t{1}, size_t{777}, file.size()})
    for (const size_t out : {size_t{1}, size_t{4096}})
      EXPECT_TRUE(read_all(*inflated(string_bytes(file, in), "test"), out) == a + b) << in << " " << out;
}

TEST_P(Formats, ACompressorWritesSeveralFrames) {
  const auto compressor = make_compressor(GetParam(), "test");
  std::string file;
  for (const char* text : {"one\n", "two\n", ""}) {
    file += compressor->compress(text);
    file += compressor->finish();
  }
  EXPECT_EQ(read_all(*inflated(string_bytes(file), "test"), 100), "one\ntwo\n");
}

TEST_P(Formats, TruncatedAndCorruptFilesAreNamed) {
  const std::string file = frame(GetParam(), words(30'000));
  const auto error_of = [](const std::string& bytes) -> std::string {
    try {
      read_all(*inflated(string_bytes(bytes), "x.tsv"), 1000);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(error_of(file.substr(0, file.size() / 2)).find("read: x.tsv: truncated "), std::string::npos);
  EXPECT_NE(error_of(file + "no frame").find("read: x.tsv: corrupt "), std::string::npos);
  std::string changed = file;
  changed[file.size() / 2] ^= 1;
  EXPECT_NE(error_of(changed).find("x.tsv: corrupt "), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Compression, Formats, testing::Values(Compression::gzip, Compression::zstd));

TEST(CompressionGuess, NeedsNoMoreBytesThanTellATextFromAFrame) {
  using namespace std::string_view_literals;
  EXPECT_EQ(compression_of("\x1f\x8b"sv).kind, Compression::gzip);
  EXPECT_EQ(compression_of("\x28\xb5\x2f\xfd more"sv).kind, Compression::zstd);
  EXPECT_EQ(compression_of("\x5a\x2a\x4d\x18"sv).kind, Compression::zstd) << "a frame to be skipped";
  for (const std::string_view text : {"H"sv, "(\n"sv, "(abc"sv, "P\n"sv, "P*M"sv, "P*MA"sv, "\x1f\x1f"sv}) {
    EXPECT_EQ(compression_of(text).kind, Compression::none) << text;
    EXPECT_EQ(compression_of(text).undecided, text == "P*M") << text;
  }
  EXPECT_TRUE(compression_of("").undecided);
}

TEST(CompressionNamed, ByTheEndOfTheName) {
  EXPECT_EQ(compression_named("a.txt"), Compression::none);
  EXPECT_EQ(compression_named("a.gz.txt"), Compression::none);
  EXPECT_EQ(compression_named("a.txt.gz"), Compression::gzip);
  EXPECT_EQ(compression_named("a.zst"), Compression::zstd);
}

TEST(CompressionZstd, IsAnErrorThatSaysSoWhereItIsAbsent) {
  if (has_zstd()) GTEST_SKIP() << "built with libzstd";
  EXPECT_THROW(make_compressor(Compression::zstd, "out.zst"), InputError);
  EXPECT_THROW(make_decompressor(Compression::zstd, "in.zst"), InputError);
}

}  // namespace qkv::compression_test
