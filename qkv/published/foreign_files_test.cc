// Files of CTranslate2, Marian and minGPT that claim to be larger than they are, or that lack a part.
#include <cstring>

#include <gtest/gtest.h>

#include "qkv/published/published_folder_test.h"

namespace qkv::foreign_files_test {

using test::PublishedFolder;

template <class T>
std::string bytes_of(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// The position after a name and its NUL.
size_t behind(const std::string& bytes, const std::string& name) { return bytes.find(name) + name.size() + 1; }

TEST(CTranslate2File, AVariableWithoutNumbersIsRefused) {
  const PublishedFolder folder("ctranslate2-float32");
  std::string bytes = read_file(folder.path() / "model.bin");
  const size_t at = behind(bytes, "decoder/projection/bias");
  ASSERT_EQ(bytes[at], 1) << "its rank";
  uint32_t size = 0;
  std::memcpy(&size, bytes.data() + at + 6, 4);
  const std::string endless = std::string(1, '\2') + bytes_of(uint32_t{0}) + bytes_of(UINT32_MAX) +
                              std::string(1, '\0') + bytes_of(uint32_t{0});
  bytes.replace(at, 10 + size, endless);
  folder.write("model.bin", bytes);
  EXPECT_EQ(folder.error(),
            "model.bin: variable 'decoder/projection/bias' has the sizes 0, must have 1 to 2^32 numbers on at most "
            "6 axes");
}

TEST(CTranslate2File, AModelThatStartsFromZerosNeedsItsOutput) {
  const PublishedFolder folder("ctranslate2-float32");
  std::string bytes = read_file(folder.path() / "model.bin");
  bytes[behind(bytes, "decoder/projection/weight") - 2] = 'x';
  folder.write("model.bin", bytes);
  EXPECT_EQ(folder.error(), "model.bin: there is no matrix 'decoder/projection/weight'");
}

// Each array alone is not too large.
TEST(NpzFile, TheArraysTogetherHaveALimit) {
  const PublishedFolder folder("marian-npz");
  std::string bytes = read_file(folder.path() / "model.npz");
  const auto each = static_cast<uint32_t>(60 * bytes.size());
  for (size_t at = 0; (at = bytes.find("PK\1\2", at)) != bytes.npos; at += 4)
    std::memcpy(bytes.data() + at + 24, &each, 4);
  folder.write("model.npz", bytes);
  const std::string error = folder.error();
  EXPECT_NE(error.find("it would unpack to more than 100 times its own size"), std::string::npos) << error;
}

// The settings and the tensors are one file.
TEST(MinGptFile, ErrorsNameItOnce) {
  const auto error_of = [](const std::string& config, const std::string& tensor) {
    const test::ScratchFolder folder;
    write_file(folder.path() / "a-model.json",
               fmt::format(R"({{"config": {{{}}}, "transformer.wte.weight": {{{}}}}})", config, tensor));
    try {
      read_model(folder.path());
      return std::string("none");
    } catch (const InputError& error) {
      return std::string(error.what()).substr(folder.path().string().size() + 1);
    }
  };
  const std::string config = R"("n_layer": 1, "n_head": 2, "n_embd": 8, "vocab_size": 100, "block_size": 4)",
                    number = R"("dtype": "torch.float32", "data": "AACAPw==", "shape": )";
  EXPECT_EQ(error_of(config, number + "[1]"),
            "a-model.json: 4 bytes cannot hold the 1720 parameters of the settings in it");
  EXPECT_EQ(error_of(config, number + "[-1]"), "a-model.json: 'transformer.wte.weight': [-1] is not a valid shape");
  EXPECT_EQ(error_of(config, number + "[2]"),
            "a-model.json: 'transformer.wte.weight': 4 bytes do not hold 2 numbers");
  EXPECT_EQ(error_of(config + R"(, "n_inner": -3)", number + "[1]").find("a-model.json", 1), std::string::npos);
}

TEST(MarianSettings, ErrorsOfYamlAreInWordsOfTheFile) {
  const PublishedFolder folder("marian-npz");
  folder.write("decoder.yml", "models: [model.npz\nvocabs: {]");
  const std::string error = folder.error();
  EXPECT_TRUE(error.starts_with("decoder.yml: this is not YAML: line ")) << error;
  EXPECT_EQ(error.find("yaml-cpp"), std::string::npos) << error;
}

TEST(MarianSettings, NamesOfFilesReachErrorsWithoutTheirControlCharacters) {
  const PublishedFolder folder("marian-npz");
  folder.write("decoder.yml", "models: [\"pa\\ess.npz\"]\nvocabs: [a, b]");
  EXPECT_NE(folder.error().find("pa\\x1bss.npz"), std::string::npos) << folder.error();
}

}  // namespace qkv::foreign_files_test
