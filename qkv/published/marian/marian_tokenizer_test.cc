// vocab.yml of Marian: tokens and their ids.
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/marian/marian_folder.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::marian_tokenizer_test {

class MarianVocabulary : public testing::Test {
 protected:
  Tokenizer read(const std::string& yaml) const {
    write_file(folder.path() / "vocab.yml", yaml);
    return marian_tokenizer(folder.path() / "vocab.yml", TokenizerSide::source, -1, 6);
  }
  std::string error_of(const std::string& yaml) const {
    try {
      read(yaml);
      return "none";
    } catch (const InputError& error) {
      return std::string(error.what()).substr(folder.path().string().size() + 1);
    }
  }

  const test::ScratchFolder folder;
};

const std::string begin = "</s>: 0\n<unk>: 1\n";

TEST_F(MarianVocabulary, TokensAreTextsWhateverTheyLookLike) {
  const Tokenizer words = read(begin + "yes: 2\n1.5: 3\n\"~\": 4\n'null': 5\n");
  EXPECT_EQ(words.encode("yes 1.5 ~ null no"), (std::vector<int32_t>{2, 3, 4, 5, 1}));
}

TEST_F(MarianVocabulary, ErrorsSayWhatWasExpected) {
  const std::string must = "must be a number from 0 to 16777215, got ";
  EXPECT_EQ(error_of(begin + "cat: two\n"), "vocab.yml: the id of 'cat' " + must + "'two'");
  EXPECT_EQ(error_of(begin + "cat: 1.5\n"), "vocab.yml: the id of 'cat' " + must + "'1.5'");
  EXPECT_EQ(error_of(begin + "cat: -1\n"), "vocab.yml: the id of 'cat' " + must + "'-1'");
  EXPECT_EQ(error_of(begin + "cat: 99999999999\n"), "vocab.yml: the id of 'cat' " + must + "'99999999999'");
  EXPECT_EQ(error_of(begin + "cat:\n"), "vocab.yml: the id of 'cat' " + must + "nothing");
  EXPECT_EQ(error_of(begin + "cat: [2]\n"), "vocab.yml: the id of 'cat' " + must + "a list or a map");
  EXPECT_EQ(error_of(begin + "~: 2\n"),
            "vocab.yml: a token must be a text; null and ~ are texts in quotation marks");
  EXPECT_EQ(error_of("- cat\n- dog\n"), "vocab.yml: this is not a map of tokens and their ids");
  EXPECT_EQ(error_of(""), "vocab.yml: this is not a map of tokens and their ids");
  EXPECT_EQ(error_of("<unk>: 1\n"), "vocab.yml: there is no '</s>'");
}

TEST_F(MarianVocabulary, AFileThatIsNotYamlIsRefusedByLineAndColumn) {
  for (const char* bad : {"</s>: 0\ncat: {]", "a: b: c\n", "'cat", "&x *x: [*x", "\t- a: 1"}) {
    const std::string error = error_of(bad);
    EXPECT_TRUE(error.starts_with("vocab.yml: this is not YAML: line ")) << error;
    EXPECT_EQ(error.find("yaml-cpp"), error.npos) << error;
    EXPECT_EQ(error.find("line 0"), error.npos) << error;
  }
}

}  // namespace qkv::marian_tokenizer_test
