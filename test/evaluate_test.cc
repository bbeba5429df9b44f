// The output of qkv evaluate: scores with the signatures of sacreBLEU, confidence intervals, JSON.

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
  expect_error(bash(compare + "--references " + at("short.txt")), 1, {"short.txt: 1 lines, but ", "a.txt has 2"});
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

}  // namespace qkv::evaluate_test
