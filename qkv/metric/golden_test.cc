// Every number in test/golden/metrics.json, which sacreBLEU 2.6.0 computed: a test for each pair of sentences and
// for each corpus, in which every case has its name.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "qkv/metric/bleu.h"
#include "qkv/metric/chrf.h"
#include "qkv/metric/ter.h"

namespace qkv::golden_test {

using Json = nlohmann::json;

constexpr double close = 1e-9;

const Json& golden() {
  static const Json json = Json::parse(std::ifstream(QKV_SOURCE_DIR "/test/golden/metrics.json"));
  return json;
}

BleuOptions bleu_options(const std::string& name, bool sentence) {
  BleuOptions options{.effective_order = sentence};
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  options.tokenizer = value_named<BleuTokenizer>(name.substr(0, name.find('-')), "bleu", "tokenizer");
  options.lowercase = has("-lc");
  if (has("-smooth-none")) options.smoothing = BleuSmoothing::none;
  if (has("-smooth-floor")) options.smoothing = BleuSmoothing::floor;
  if (has("-smooth-floor-0.01")) options.smoothing_value = 0.01;
  if (has("-smooth-add-k")) options.smoothing = BleuSmoothing::add_k;
  if (has("-not-effective")) options.effective_order = false;
  if (has("-order-")) options.max_order = std::stoi(name.substr(name.find("-order-") + 7));
  return options;
}

ChrfOptions chrf_options(const std::string& name) {
  ChrfOptions options;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("++")) options.word_order = 2;
  options.lowercase = has("-lc");
  options.whitespace = has("-whitespace");
  options.eps_smoothing = has("-eps");
  if (has("-beta1-order4")) options.beta = 1, options.character_order = 4;
  return options;
}

TerOptions ter_options(const std::string& name) {
  const bool all = name == "ter-all";
  return {.case_sensitive = all || name == "ter-case",
          .normalized = all || name == "ter-normalized",
          .no_punctuation = all || name == "ter-no-punct"};
}

void compare(const TerScore& score, const Json& wanted) {
  EXPECT_NEAR(score.score, wanted["score"].get<double>(), close);
  EXPECT_EQ(score.edits, wanted["num_edits"].get<int64_t>());
  EXPECT_EQ(score.reference_length, wanted["ref_length"].get<double>());
}

// wanted is a score, or an object with its parts.
void compare(const BleuScore& score, const Json& wanted) {
  if (wanted.is_number()) {
    EXPECT_NEAR(score.score, wanted.get<double>(), close);
    return;
  }
  EXPECT_NEAR(score.score, wanted["score"].get<double>(), close);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(score.precisions[i], wanted["precisions"][i].get<double>(), close);
    EXPECT_EQ(score.matches[i], wanted["counts"][i].get<double>());
    EXPECT_EQ(score.totals[i], wanted["totals"][i].get<double>());
  }
  EXPECT_NEAR(score.brevity_penalty, wanted["bp"].get<double>(), close);
  EXPECT_EQ(score.hypothesis_length, wanted["sys_len"].get<int64_t>());
  EXPECT_EQ(score.reference_length, wanted["ref_len"].get<int64_t>());
}

struct Lines {
  std::vector<std::string> hypotheses, references;
};

Lines lines_of(const std::string& set) {
  Lines lines;
  size_t count = golden()["pairs"].size();
  if (set.starts_with("first-")) count = std::stoul(set.substr(6));
  for (size_t i = 0; i < count; ++i) {
    const Json& pair = golden()["pairs"][i];
    if (set != "all" && !set.starts_with("first-") && pair["lang"] != set) continue;
    lines.hypotheses.push_back(pair["hypothesis"]);
    lines.references.push_back(pair["reference"]);
  }
  return lines;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

class SacreBleuPair : public testing::TestWithParam<size_t> {};

TEST_P(SacreBleuPair, Agrees) {
  const Json& pair = golden()["pairs"][GetParam()];
  const std::string hypothesis = pair["hypothesis"], reference = pair["reference"];
  for (const auto& [key, wanted] : pair["bleu"].items()) {
    SCOPED_TRACE("bleu " + key);
    compare(sentence_bleu(hypothesis, {reference}, bleu_options(key, true)), wanted);
  }
  for (const auto& [key, wanted] : pair["chrf"].items())
    EXPECT_NEAR(sentence_chrf(hypothesis, {reference}, chrf_options(key)).score, wanted.get<double>(), close)
        << key;
  for (const auto& [key, wanted] : pair["ter"].items()) {
    SCOPED_TRACE(key);
    compare(sentence_ter(hypothesis, {reference}, ter_options(key)), wanted);
  }
  for (const auto& [key, wanted] : pair["tokenized"].items()) {
    const auto tokenizer = value_named<BleuTokenizer>(key, "bleu", "tokenizer");
    EXPECT_EQ(tokenize(hypothesis, tokenizer), wanted[0].get<std::string>()) << key;
    EXPECT_EQ(tokenize(reference, tokenizer), wanted[1].get<std::string>()) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, SacreBleuPair, testing::Range(size_t{0}, golden()["pairs"].size()));

class SacreBleuCorpus : public testing::TestWithParam<std::string> {};

TEST_P(SacreBleuCorpus, Agrees) {
  const Json& corpus = golden()["corpus"][GetParam()];
  const Lines lines = lines_of(GetParam());
  EXPECT_EQ(lines.hypotheses.size(), corpus["lines"].get<size_t>());
  for (const auto& [key, wanted] : corpus["bleu"].items()) {
    SCOPED_TRACE("bleu " + key);
    compare(bleu(lines.hypotheses, lines.references, bleu_options(key, false)), wanted);
  }
  for (const auto& [key, wanted] : corpus["chrf"].items())
    EXPECT_NEAR(chrf(lines.hypotheses, lines.references, chrf_options(key)).score, wanted.get<double>(), close)
        << key;
}

INSTANTIATE_TEST_SUITE_P(Golden, SacreBleuCorpus, testing::ValuesIn(keys_of(golden()["corpus"])),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SacreBleu, AgreesWithTwoReferences) {
  const Json& wanted = golden()["two_references"];
  const Lines lines = lines_of("all");
  const std::vector<std::vector<std::string>> references{lines.references, wanted["second"]};
  compare(bleu(lines.hypotheses, references), wanted["bleu-13a"]);
  compare(ter(lines.hypotheses, references), wanted["ter"]);
  for (const std::string key : {"chrF", "chrF++"})
    EXPECT_NEAR(chrf(lines.hypotheses, references, chrf_options(key)).score, wanted[key].get<double>(), close)
        << key;
  EXPECT_EQ(signature(BleuOptions(), 2) + "|version:2.6.0", wanted["signature"].get<std::string>());
}

TEST(SacreBleu, PrintsTheSameLine) {
  const Lines lines = lines_of("all");
  EXPECT_EQ(bleu(lines.hypotheses, lines.references).to_string(), golden()["printed"]["bleu"].get<std::string>());
  EXPECT_EQ(chrf(lines.hypotheses, lines.references).to_string(), golden()["printed"]["chrf"].get<std::string>());
}

std::string signature_of(const std::string& key) {
  if (key.starts_with("chrF")) return signature(chrf_options(key));
  if (key.starts_with("ter")) return signature(ter_options(key));
  return signature(bleu_options(key.substr(key.find("bleu-") + 5), key.starts_with("sentence-")));
}

TEST(SacreBleu, HasTheSameSignatures) {
  for (const auto& [key, wanted] : golden()["signatures"].items())
    EXPECT_EQ(signature_of(key) + "|version:2.6.0", wanted) << key;
}

}  // namespace qkv::golden_test
