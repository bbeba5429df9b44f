#include "qkv/text/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/text/gzip_test.h"
#include "qkv/text/holdout.h"

namespace qkv::corpus_test {

class CorpusTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return (folder / name).string();
  }
  static std::string error_of(const std::string& spec) {
    try {
      read_corpus(spec);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                       ("qkv_corpus_" + std::to_string(getpid()) + "_" +
                                        std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};
using Corpus = CorpusTest;

using Pairs = std::vector<SentencePair>;

TEST_F(Corpus, ReadsTabSeparatedPairs) {
  EXPECT_EQ(read_corpus(file("a.tsv", "one\tun\r\ntwo \t deux\tlicence\tmore\nthree\ttrois")),
            (Pairs{{"one", "un"}, {"two ", " deux"}, {"three", "trois"}}));
}

TEST_F(Corpus, RefusesAnExportWithNumbersInItsFirstColumnAndSaysHowToCutIt) {
  const auto error_of = [&](const std::string& line) {
    return CorpusTest::error_of(file("export.tsv", line + line + line));
  };
  EXPECT_NE(error_of("1001\tI am cold.\t5001\tMir ist kalt.\n").find("(1001), expected 'source TAB target'"),
            std::string::npos);
  EXPECT_NE(error_of("1001\tI am cold.\t5001\tMir ist kalt.\n").find("cut -f 2,4"), std::string::npos);
  EXPECT_NE(error_of("1.25\tI am cold.\tMir ist kalt.\n").find("cut -f 2,3"), std::string::npos);
  EXPECT_EQ(error_of("12\ttwelve\n"), "") << "numbers are sentences in two columns";
  EXPECT_EQ(error_of("Go on.\tWeiter.\tCC-BY 2.0\n"), "");
  EXPECT_EQ(error_of("1984\t1984\tCC-BY 2.0\nGo on.\tWeiter.\tCC-BY 2.0\n"), "") << "one line is not enough";
}

TEST_F(Corpus, ReadsTwoFiles) {
  const std::string spec = file("a.en", "one\ntwo\n") + "," + file("a.fr", "un\ndeux");
  EXPECT_EQ(read_corpus(spec), (Pairs{{"one", "un"}, {"two", "deux"}}));
}

TEST_F(Corpus, ReadsAFileWhoseNameHasAComma) {
  EXPECT_EQ(read_corpus(file("a,b.tsv", "one\tun\n")), (Pairs{{"one", "un"}}));
}

// The pairs of a corpus as lines, each bad line as its error without the folder.
std::vector<std::string> pairs_and_errors(const std::string& spec, const CorpusOptions& options) {
  CorpusReader reader(spec, options);
  std::vector<std::string> found;
  for (;;) try {
      SentencePair pair;
      if (!reader.next(pair)) return found;
      found.push_back(pair.source + "|" + pair.target);
    } catch (const LineError& error) {
      const std::string what = error.what();
      found.push_back(what.substr(what.find_last_of('/') + 1));
    }
}

TEST_F(Corpus, GivesAPairOrAnErrorForEveryLineIfAsked) {
  const CorpusOptions options{.every_line = true};
  EXPECT_EQ(pairs_and_errors(file("a.tsv", "one\tun\n\tdeux\nthree\n\n\xff\tcinq\nsix\tsix"), options),
            (std::vector<std::string>{"one|un", "|deux", "a.tsv:3: no tab, expected 'source TAB target'", "|",
                                      "a.tsv:5: invalid UTF-8 at byte 1 (0xff)", "six|six"}));
  EXPECT_TRUE(pairs_and_errors(file("empty.tsv", ""), options).empty());
}

TEST_F(Corpus, TwoFilesStayAlignedAfterABadLine) {
  const std::string spec =
      file("a.en", "one\n\xff\nthree\nfour\n") + "," + file("a.fr", "un\ndeux\n\xfe\nquatre\n");
  EXPECT_EQ(pairs_and_errors(spec, {}),
            (std::vector<std::string>{"one|un", "a.en:2: invalid UTF-8 at byte 1 (0xff)",
                                      "a.fr:3: invalid UTF-8 at byte 1 (0xfe)", "four|quatre"}));
}

TEST_F(Corpus, SeveralAreReadOneAfterAnotherAsOne) {
  const CorpusPaths paths = {file("a.tsv", "one\tun\n\t\n"),
                             file("b.en", "two\nthree\n") + "," + file("b.fr", "deux\ntrois\n"),
                             file("c.tsv.gz", gzip("four\tquatre\n"))};
  const qkv::Corpus all(paths);
  EXPECT_EQ(all.name(), paths.list[0] + ", " + paths.list[1] + " and " + paths.list[2]);
  EXPECT_EQ(read_corpus(all), (Pairs{{"one", "un"}, {"two", "deux"}, {"three", "trois"}, {"four", "quatre"}}));
  EXPECT_EQ(read_corpus(all).size(), 4u) << "again";
  CorpusReader reader(all);
  std::vector<std::string> places;
  for (SentencePair pair; reader.next(pair);)
    places.push_back(std::filesystem::path(reader.where()).filename().string());
  EXPECT_EQ(places, (std::vector<std::string>{"a.tsv:1", "b.en:1", "b.en:2", "c.tsv.gz:1"}));
  EXPECT_EQ(reader.pairs(), 4);
  EXPECT_EQ(reader.blank(), 1);
}

TEST_F(Corpus, AnEmptyOneAmongSeveralIsNamed) {
  const std::string full = file("a.tsv", "one\tun\n"), empty = file("b.tsv", "\n\n");
  const auto error_of = [](const CorpusPaths& paths) -> std::string {
    try {
      read_corpus(qkv::Corpus(paths));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({full, empty}), empty + ": no sentence pairs: one side of each of its 2 lines is blank");
  EXPECT_EQ(error_of({empty, full}), empty + ": no sentence pairs: one side of each of its 2 lines is blank");
  EXPECT_EQ(error_of({full, full}), "") << "twice: each pair counts twice";
}

TEST_F(Corpus, TwoFilesOfPairsAreNotTheSidesOfOneCorpus) {
  const std::string lines = "one\tun\ntwo\tdeux\nthree\ttrois\n", a = file("a.tsv", lines),
                    b = file("b.tsv", lines);
  EXPECT_NE(error_of(a + "," + b).find("give each by itself, as with --train " + a + " --train " + b),
            std::string::npos);
  const std::string some = file("c", "a tab\there\nplain\nplain\n");
  EXPECT_EQ(error_of(some + "," + file("d", "x\ty\nplain\nplain\n")), "") << "one line is not enough";
}

TEST_F(Corpus, SkipsAndCountsBlankSides) {
  CorpusReader reader(file("a.tsv", "one\tun\n\tdeux\nthree\t \n\n\xc2\xa0\tcinq\nsix\tsix\n"));
  SentencePair pair;
  EXPECT_TRUE(reader.next(pair) && reader.next(pair));
  EXPECT_EQ(pair.source, "six");
  EXPECT_FALSE(reader.next(pair));
  EXPECT_EQ(reader.pairs(), 2);
  EXPECT_EQ(reader.blank(), 4);
}

TEST_F(Corpus, NamesFileAndLineOfWhatIsWrong) {
  const std::string path = (folder / "a.tsv").string();
  EXPECT_EQ(error_of(file("a.tsv", "one\tun\ntwo deux\n")), path + ":2: no tab, expected 'source TAB target'");
  EXPECT_EQ(error_of(file("a.tsv", "one\tun\ntwo\t\xff\n")), path + ":2: invalid UTF-8 at byte 5 (0xff)");
  EXPECT_EQ(error_of(file("a.tsv", std::string("one\tu\0n\n", 8))), path + ":1: a NUL byte at byte 6");
  EXPECT_EQ(error_of(file("a.tsv", "one\t" + std::string(1'000'000, 'x'))),
            path + ":1: a line of 1000000 bytes or more");
  EXPECT_EQ(error_of(file("a.tsv", "")), path + ": no sentence pairs: it is empty");
  EXPECT_EQ(error_of(file("a.tsv", "\n\tx\n")),
            path + ": no sentence pairs: one side of each of its 2 lines is blank");
  EXPECT_EQ(error_of("no/such.tsv"), "read: no/such.tsv: No such file or directory");
  EXPECT_EQ(error_of("a,b,c"), "corpus: 'a,b,c' is neither a file nor 'source-file,target-file'");
}

TEST_F(Corpus, NamesBothFilesThatDifferInLength) {
  const std::string a = file("a", "1\n2\n3\n"), b = file("b", "1\n2\n3\n4\n5\n");
  EXPECT_EQ(error_of(a + "," + b), a + "," + b + ": " + a + " has 3 lines, but " + b + " has 5");
  EXPECT_EQ(error_of(b + "," + a), b + "," + a + ": " + b + " has 5 lines, but " + a + " has 3");
}

TEST_F(Corpus, SurvivesAnyBytes) {
  Random random(13);
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (uint64_t i = random.below(100); i > 0; --i)
      text += random.below(3) ? "ab\t\n\r "[random.below(6)] : static_cast<char>(random.bits());
    error_of(file("any.tsv", text));
  }
}

TEST_F(Corpus, GivesTheSentencesOfASide) {
  const std::string path = file("a.tsv", "one\tun\ntwo\tdeux\n");
  const auto all = [&](Side side) {
    CorpusSentences next(path, side);
    std::vector<std::string> sentences;
    for (std::string sentence; next(sentence);) sentences.push_back(sentence);
    return sentences;
  };
  using Sentences = std::vector<std::string>;
  EXPECT_EQ(all(Side::source), (Sentences{"one", "two"}));
  EXPECT_EQ(all(Side::target), (Sentences{"un", "deux"}));
  EXPECT_EQ(all(Side::both), (Sentences{"one", "un", "two", "deux"}));
}

std::string many_pairs(int sources) {  // source k has k % 3 + 1 translations, not side by side
  std::string text;
  for (int t = 0; t < 3; ++t)
    for (int k = 0; k < sources; ++k)
      if (t <= k % 3)
        text += "source " + std::to_string(k) + (t == 1 ? " " : "") + "\ttarget " + std::to_string(t) + "\n";
  return text;
}

TEST_F(Corpus, HoldsOutDistinctSourcesThatTrainingNeverSees) {
  const std::string path = file("a.tsv", many_pairs(300));
  const Holdout holdout(path, 50, 1);
  std::set<std::string> held;
  for (const auto& [source, target] : holdout.pairs()) {
    held.insert(source);
    EXPECT_EQ(target, "target 0") << "the first of the translations";
  }
  EXPECT_EQ(held.size(), 50u);
  CorpusReader training(path, {.holdout = &holdout});
  std::set<std::string> seen;
  for (SentencePair pair; training.next(pair);) {
    while (pair.source.ends_with(' ')) pair.source.pop_back();
    EXPECT_FALSE(held.contains(pair.source)) << pair.source;
    seen.insert(pair.source);
  }
  EXPECT_EQ(seen.size(), 250u);
  EXPECT_EQ(training.pairs() + training.held_out(), 600);
}

TEST_F(Corpus, HoldsOutByTheSeedAndNotByTheOrder) {
  const std::string path = file("a.tsv", many_pairs(100));
  const auto pairs = Holdout(path, 20, 1).pairs();
  EXPECT_EQ(Holdout(path, 20, 1).pairs(), pairs);
  EXPECT_NE(Holdout(path, 20, 2).pairs(), pairs);
  std::string reversed;
  for (int k = 99; k >= 0; --k) reversed += "source " + std::to_string(k) + "\ttarget 0\n";
  auto other = Holdout(file("b.tsv", reversed), 20, 1).pairs();
  std::reverse(other.begin(), other.end());
  EXPECT_EQ(other, pairs);
}

TEST_F(Corpus, RefusesToHoldOutEverything) {
  const std::string path = file("a.tsv", many_pairs(10));
  EXPECT_EQ(Holdout(path, 9, 1).pairs().size(), 9u);
  try {
    Holdout(path, 10, 1);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), path + ": hold-out is 10, but the corpus has only 10 distinct source sentences");
  }
  EXPECT_TRUE(Holdout(path, 0, 1).pairs().empty());
}

}  // namespace qkv::corpus_test
