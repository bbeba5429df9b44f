#include "qkv/picture/evaluation_page.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/model/transformer.h"
#include "qkv/picture/evaluation_attention.h"
#include "qkv/picture/evaluation_page_parts.h"

namespace qkv::evaluation_page_test {

using Lines = std::vector<std::string>;

Json data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(EvaluationPage, HasEveryLineAndTheScoresOfSentences) {
  const Evaluation e({{"a", {"the cat", "it rains"}}, {"b", {"the dog", "it rains"}}}, {{"the cat", "it rains"}},
                     {.paired = PairedTest::randomization});
  const std::string page = evaluation_page(e, {.title = "Two", .sources = {"le chat", "il pleut"}});
  const Json data = data_of(page);
  EXPECT_EQ(data["systems"][1]["lines"][0].text(), "the dog");
  EXPECT_EQ(data["references"][0][1].text(), "it rains");
  EXPECT_EQ(data["sources"][0].text(), "le chat");
  for (size_t system = 0; system < 2; ++system)
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(data["systems"][system]["chrf"][i].get<double>(), e.sentence_scores(system)[i].chrf, 0.005);
      EXPECT_NEAR(data["systems"][system]["bleu"][i].get<double>(), e.sentence_scores(system)[i].bleu, 0.005);
    }
  EXPECT_NE(page.find("<title>Two</title>"), std::string::npos);
  EXPECT_NE(page.find("<small>p = "), std::string::npos);
  EXPECT_NE(page.find("<td>1 of 2</td>"), std::string::npos);
  EXPECT_THROW(evaluation_page(e, {.sources = {"le chat"}}), InputError);
}

TEST(EvaluationPage, NoTextBecomesMarkup) {
  const std::string bad = "</script><img src=x onerror=alert(1)>\xff";
  const Evaluation e({{bad, {bad}}}, {{bad}});
  const std::string page = evaluation_page(e, {.title = bad, .sources = {bad}, .attention = {{0, bad}}});
  EXPECT_EQ(page.find("<img"), std::string::npos);
  const Json data = data_of(page);
  EXPECT_EQ(data["sources"][0].text().substr(0, bad.size() - 1), bad.substr(0, bad.size() - 1));
  EXPECT_EQ(data["attention"][0]["sentence"].get<int64_t>(), 0);
}

TEST(EvaluationPage, ScriptAndStyleCannotEndTheirElements) {
  for (const std::string_view part : {evaluation_page_script, evaluation_page_style}) {
    EXPECT_EQ(part.find("</"), std::string_view::npos);
    EXPECT_TRUE(std::all_of(part.begin(), part.end(), [](char c) { return c >= 0; }));
  }
}

class AttentionOfWorst : public testing::Test {
 protected:
  static Translator translator() {
    const Tokenizer vocabulary =
        Tokenizer::train({"the cat", "it rains", "abcdefghijk"},
                         {.type = TokenizerType::character, .vocabulary_size = 60, .character_coverage = 1});
    TransformerConfig config = recipe("transformer-tiny").transformer();
    config.d_model = config.ffn = 16;
    config.encoder_layers = config.decoder_layers = 1;
    config.tie = Tie::none;
    config.source_vocabulary = config.target_vocabulary = vocabulary.size();
    return Translator(Transformer(config, 1), vocabulary, vocabulary);
  }

  const Lines sources = {"the cat", "", "it rains", "abc"};
  const Evaluation evaluation{
      {{"other", {"the cat", "it", "it rains", "abc"}}, {"model", {"the cat", "x", "it", ""}}},
      {{"the cat", "it", "it rains", "abc"}}};
};

TEST_F(AttentionOfWorst, IsThatOfTheWorstTranslationsFirst) {
  const std::vector<SentencePage> pages = attention_of_worst(translator(), evaluation, sources, {.system = 1});
  std::vector<size_t> sentences;
  for (const SentencePage& page : pages) sentences.push_back(page.sentence);
  EXPECT_EQ(sentences, (std::vector<size_t>{3, 2, 0}));  // without the blank source of sentence 1
  EXPECT_NE(pages[1].html.find(">it rains</dd>"), std::string::npos);
  EXPECT_NE(pages[1].html.find(">it</dd>"), std::string::npos) << "the given translation";
  EXPECT_NE(pages[1].html.find("rows: the token produced"), std::string::npos) << "the caption";
  EXPECT_EQ(attention_of_worst(translator(), evaluation, sources, {.system = 1, .sentences = 1}).size(), 1u);
}

TEST_F(AttentionOfWorst, StopsWhereThePageWouldBecomeTooLarge) {
  const auto pages = attention_of_worst(translator(), evaluation, sources, {.system = 1});
  const auto first = std::ssize(pages[0].html);
  EXPECT_EQ(attention_of_worst(translator(), evaluation, sources, {.system = 1, .max_bytes = first + 1}).size(),
            1u);
  EXPECT_TRUE(attention_of_worst(translator(), evaluation, sources, {.system = 1, .max_bytes = 8}).empty());
  EXPECT_THROW(attention_of_worst(translator(), evaluation, Lines{"a"}, {.system = 1}), InputError);
}

}  // namespace qkv::evaluation_page_test
