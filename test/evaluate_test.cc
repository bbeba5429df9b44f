// The output of qkv evaluate: scores with the signatures of sacreBLEU, confidence intervals, JSON; translations that it
// saves, systems that it compares, and the page of all sentences.

#include <string>

#include "test/command_test.h"

namespace qkv::evaluate_test {

using Evaluate = CommandTest;

TEST_F(Evaluate, ComparesFiles) {
  write_file(at("a.txt"), "the cat sat on the mat\n");
  const Outcome same = bash(fmt::format("qkv evaluate --hypotheses {} --references {}", at("a.txt"), at("a.txt")));
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.out.find("100.0"), std::string::npos) << same.out;
  EXPECT_NE(same.out.find("exact match 1.0000 (1 of 1)"), std::string::npos) << same.out;
  expect_error(bash("qkv evaluate --model x --hypotheses y"), 2, {"--hypotheses"});
}

TEST_F(Evaluate, PrintsSignaturesAndConfidenceAndJson) {
  write_file(at("a.txt"), "the cat sat on the mat\nHello there , world\n");
  write_file(at("b.txt"), "the cat sat on a mat\nhello there , world\n");
  const std::string compare =
      fmt::format("qkv evaluate --hypotheses {} --references {} ", at("a.txt"), at("b.txt"));
  const Outcome plain = bash(compare);
  EXPECT_NE(plain.out.find("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp = "), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no = "), std::string::npos);
  EXPECT_NE(plain.out.find("TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no = "), std::string::npos);
  const Outcome options = bash(compare + "--tokenize none --lowercase --chrf-word-order 2 --confidence");
  EXPECT_NE(options.out.find("BLEU|nrefs:1|bs:1000|seed:12345|case:lc|eff:no|tok:none|smooth:exp = "),
            std::string::npos)
      << options.out;
  EXPECT_NE(options.out.find("chrF2++|nrefs:1|bs:1000"), std::string::npos) << options.out;
  EXPECT_NE(options.out.find(" (\u03bc = "), std::string::npos) << options.out;
  const Outcome several = bash(compare + "--json --references " + at("a.txt"));
  EXPECT_NE(several.out.find("\"signature\": \"nrefs:2|"), std::string::npos) << several.out;
  EXPECT_NE(several.out.find("\"score\": 100.0"), std::string::npos) << several.out;
  write_file(at("short.txt"), "one\n");
  expect_error(bash(compare + "--references " + at("short.txt")), 1, {"short.txt: 1 line, but ", "a.txt has 2"});
  expect_error(bash("qkv evaluate --hypotheses " + at("a.txt")), 2, {"--hypotheses needs --references FILE"});
  expect_error(bash(compare + "--tokenize moses"), 2, {"--tokenize must be one of 13a, intl, char, none"});
}

TEST_F(Evaluate, TranslatesAsTranslateDoesAndSaysWhatItCut) {
  bash(fmt::format("mkdir -p bart && cp {}/test/checkpoints/bart/* bart && chmod -R u+w bart", QKV_SOURCE_DIR));
  write_file(at("bart/generation_config.json"),
             R"({"num_beams": 3, "max_length": 9, "min_length": 7, "length_penalty": 0.1})");
  write_file(at("sources"), "the cold rain\nit is\n" + std::string(3000, 'a') + "\n");
  EXPECT_EQ(bash("qkv translate --model bart --input sources --output translations").code, 0);
  const Outcome outcome = bash("qkv evaluate --model bart --input sources,translations");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("exact match 1.0000 (3 of 3)"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("sources:3: longer than the model's 64 tokens; the rest was not translated\n"),
            std::string::npos)
      << outcome.err;
  const Outcome inspected = bash("qkv inspect --model bart --output a.json 'the cold rain'");
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_EQ(inspected.out, bash("head -n 1 translations").out);
}

// References of 3 and 12 words, a perfect and a poor system, and sources.
class CompareSystems : public Evaluate {
 protected:
  void SetUp() override {
    const std::string twelve = "one two three four five six seven eight nine ten eleven twelve";
    write_file(at("references"), "the cat sat\n" + twelve + "\n");
    write_file(at("good"), "the cat sat\n" + twelve + "\n");
    write_file(at("poor"), "a dog sat\none two </script><b> three\n");
    write_file(at("inputs"), "die Katze sitzt\neins zwei drei\n");
  }
};

TEST_F(CompareSystems, PrintsOneTableWithBothTests) {
  const std::string compare = "qkv evaluate --hypotheses good --hypotheses poor --references references ";
  const Outcome plain = bash(compare);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_NE(plain.out.find("good    100.00  100.00  0.00"), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("\npoor    "), std::string::npos);
  EXPECT_EQ(plain.out.find("p = "), std::string::npos);
  const Outcome bootstrap = bash(compare + "--paired-bs --resamples 99 --seed 7");
  EXPECT_NE(bootstrap.out.find("(p = "), std::string::npos) << bootstrap.out;
  EXPECT_NE(bootstrap.out.find("(\u03bc = 100.00 \u00b1 0.00)"), std::string::npos);
  EXPECT_NE(bootstrap.out.find("BLEU|nrefs:1|bs:99|seed:7|case:mixed"), std::string::npos);
  const Outcome randomization = bash(compare + "--paired-ar --json");
  EXPECT_NE(randomization.out.find("\"system\": \"poor\""), std::string::npos) << randomization.out;
  EXPECT_NE(randomization.out.find("\"p_value\": "), std::string::npos);
  EXPECT_NE(randomization.out.find("nrefs:1|ar:10000|seed:12345|"), std::string::npos);
}

TEST_F(CompareSystems, PrintsScoresByLength) {
  const Outcome by_reference = bash("qkv evaluate --hypotheses poor --references references --by-length");
  EXPECT_NE(by_reference.out.find("reference words  sentences  system"), std::string::npos) << by_reference.out;
  EXPECT_NE(by_reference.out.find("\n10-19            1          poor "), std::string::npos) << by_reference.out;
  const Outcome by_source = bash("qkv evaluate --hypotheses poor --input inputs,references --by-length --json");
  EXPECT_NE(by_source.out.find("\"measured\": \"source words\""), std::string::npos) << by_source.out;
  EXPECT_EQ(by_source.out.find("10-19"), std::string::npos) << by_source.out;  // both sources have 3 words
}

TEST_F(CompareSystems, WritesAPageThatNoTextEscapesFrom) {
  const Outcome outcome =
      bash("qkv evaluate --hypotheses good --hypotheses poor --input inputs,references --page p.html");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("page of all sentences: p.html"), std::string::npos) << outcome.err;
  const std::string page = read_file(at("p.html"));
  EXPECT_NE(page.find("one two \\u003c/script>\\u003cb> three"), std::string::npos);
  EXPECT_NE(page.find("die Katze sitzt"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
}

TEST_F(CompareSystems, RefusesWhatCannotBeCompared) {
  const std::string one = "qkv evaluate --hypotheses good --references references ";
  expect_error(bash(one + "--paired-bs"), 2, {"--paired-bs compares systems"});
  expect_error(bash(one + "--hypotheses poor --paired-bs --paired-ar"), 2, {"exclude each other"});
  expect_error(bash(one + "--output x"), 2, {"--output needs a file for each --model", "1 and 0"});
  expect_error(bash(one + "--page -"), 2, {"need the name of a file"});
  expect_error(bash(one + "--page p.html --page-system base"), 2, {"--page-system must be one of the models"});
  expect_error(bash(one + "--seed -1"), 2, {"--seed must be 0 to 4294967295"});
  write_file(at("short"), "one\n");
  expect_error(bash(one + "--hypotheses short"), 1, {"short: 1 line, but good has 2"});
}

TEST_F(Evaluate, SavesTheTranslationsOfEveryModelThatItCompares) {
  bash("cp -r model other");
  EXPECT_EQ(bash("qkv translate --model model --input <(cut -f 1 pairs.tsv) --max-length 200 --output wanted").code,
            0);
  const std::string evaluate = "qkv evaluate --model model --model other --input pairs.tsv --max-length 200 ";
  const Outcome outcome = bash(evaluate + "--output a --output b --paired-bs --page p.html");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nmodel  "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\nother  "), std::string::npos) << outcome.out;
  EXPECT_EQ(read_file(at("a")), read_file(at("wanted")));
  EXPECT_EQ(read_file(at("a")), read_file(at("b")));
  const std::string page = read_file(at("p.html"));
  EXPECT_NE(page.find("\"attentionOf\":\"model\""), std::string::npos);
  EXPECT_NE(page.find("\"html\":\"\\u003c!DOCTYPE html>"), std::string::npos);
  EXPECT_EQ(bash(evaluate + "--page p.html --page-system other").code, 0);
  EXPECT_NE(read_file(at("p.html")).find("\"attentionOf\":\"other\""), std::string::npos);
  EXPECT_EQ(bash(evaluate + "--page p.html --page-attention 0").code, 0);
  EXPECT_NE(read_file(at("p.html")).find("\"attention\":[]"), std::string::npos);
  // What is saved has the same scores.
  const Outcome again = bash("qkv evaluate --hypotheses a --input pairs.tsv");
  const Outcome first = bash("qkv evaluate --model model --input pairs.tsv --max-length 200");
  EXPECT_EQ(again.out, first.out);
}

TEST_F(Evaluate, KeepsAFileThatItCannotReplace) {
  write_file(at("kept"), "before\n");
  expect_error(bash("qkv evaluate --model model --input missing.tsv --output kept"), 1, {"missing.tsv"});
  EXPECT_EQ(read_file(at("kept")), "before\n");
  expect_error(bash("qkv evaluate --model model --input pairs.tsv --output nowhere/a"), 1, {"nowhere"});
  expect_error(bash("qkv evaluate --model model --input pairs.tsv --output kept --page kept"), 2,
               {"same file twice"});
  EXPECT_EQ(bash("ls -A | grep -c tmp").out, "0\n");
}

}  // namespace qkv::evaluate_test
