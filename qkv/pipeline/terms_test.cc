#include "qkv/pipeline/terms.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::terms_test {

using Texts = std::vector<std::string>;
using Terms = std::vector<Term>;

TEST(Terminology, AreWholeWordsInTheSameCase) {
  const Terminology terms(Terms{{"head", "Kopf"}, {"A", "B"}});
  EXPECT_EQ(terms.translations("The head, the head."), (Texts{"Kopf", "Kopf"}));
  EXPECT_EQ(terms.translations("(head)A"), (Texts{"Kopf", "B"}));
  EXPECT_EQ(terms.translations("The Head of ahead, heads, head2, \u00e9head, head\u00e9."), Texts{});
  EXPECT_EQ(terms.translations(""), Texts{});
}

TEST(Terminology, AreTheLongestThatFit) {
  const Terminology terms(Terms{{"New", "neu"}, {"New York", "New York"}, {"York", "York"}});
  EXPECT_EQ(terms.translations("New York"), (Texts{"New York"}));
  EXPECT_EQ(terms.translations("New Yorker"), (Texts{"neu"}));
  EXPECT_EQ(terms.translations("New, York"), (Texts{"neu", "York"}));
}

TEST(Terminology, AreFoundAnywhereWhereWordsAreNotSeparated) {
  const Terminology terms(Terms{{"\u6ce8\u610f", "attention"}});
  EXPECT_EQ(terms.translations("\u81ea\u6ce8\u610f\u529b"), (Texts{"attention"}));
}

TEST(Terminology, TheLastOfEqualTermsCounts) {
  EXPECT_EQ(Terminology(Terms{{"a", "x"}, {"a", "y"}}).translations("a"), (Texts{"y"}));
}

TEST(Terminology, NeedASourceAndATranslation) {
  EXPECT_THROW(Terminology(Terms{{"", "x"}}), UsageError);
  EXPECT_THROW(Terminology(Terms{{"x", " "}}), UsageError);
}

TEST(Terminology, AreReadFromLinesOfTwoFields) {
  const test::ScratchFolder folder;
  const auto read = [&](const std::string& text) {
    write_file(folder.path() / "terms.tsv", text);
    return read_terms((folder.path() / "terms.tsv").string());
  };
  const std::vector<Term> terms = read("head\tKopf\n\nattention head\tAufmerksamkeitskopf\r\n");
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_EQ(terms[1].source, "attention head");
  EXPECT_EQ(terms[1].target, "Aufmerksamkeitskopf");
  for (const std::string bad : {"head", "head\t", "\tKopf", "a\tb\tc", ""})
    EXPECT_THROW(read(bad + "\n"), InputError) << bad;
}

}  // namespace qkv::terms_test
