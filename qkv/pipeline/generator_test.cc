#include "qkv/pipeline/generator.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/inspect.h"
#include "qkv/published/min_gpt/min_gpt.h"

namespace qkv::generator_test {

const std::vector<std::string> prompts = {"I am", "", "the rain is cold and", "a", "Where are", "  "};

Generator random_generator(uint64_t seed, int64_t positions = 60) {
  const Tokenizer tokenizer = language_model_tokenizer();
  return {random_language_model<CausalTransformer>(seed, tokenizer,
                                                   [&](TransformerConfig& c) { c.max_positions = positions; }),
          tokenizer};
}

TEST(Generator, KeepsTheOrderAndContinuesEveryPromptIndependently) {
  const Generator generator = random_generator(1);
  for (const int64_t beam : {1, 3})
    for (const int64_t batch_tokens : {1, 100, 10000}) {
      const GenerateTextOptions options = {
          .max_tokens = 9, .first_prompt = 7, .beam = beam, .batch_tokens = batch_tokens};
      const auto together = generator.generate(prompts, options);
      ASSERT_EQ(together.size(), prompts.size());
      for (size_t i = 0; i < prompts.size(); ++i) {
        GenerateTextOptions alone = options;
        alone.first_prompt += static_cast<int64_t>(i);
        const GeneratedTexts one = generator.generate(prompts[i], alone);
        ASSERT_EQ(one.answers.size(), 1u);
        EXPECT_EQ(one.answers[0].text, together[i].answers[0].text);
        EXPECT_EQ(one.answers[0].log_probability, together[i].answers[0].log_probability);
        EXPECT_FALSE(one.truncated);
      }
    }
}

TEST(Generator, TextsBetweenBracesAreAList) {
  const Generator generator = random_generator(1);
  const GenerateTextOptions options = {.max_tokens = 5, .sampling = {.temperature = 0}};
  const std::vector<GeneratedTexts> two = generator.generate({"I am", "Go"}, options);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].answers[0].text, generator.generate("Go", options).answers[0].text);
  EXPECT_EQ(generator.generate({"I am", "Go"}).size(), 2u);
}

TEST(Generator, MoreAnswersAreMoreSamplesAndTheFirstIsTheOnlyOne) {
  const Generator generator = random_generator(2);
  GenerateTextOptions options = {.max_tokens = 6, .answers = 5, .batch_tokens = 20};
  const auto five = generator.generate(prompts, options);
  options.answers = 1;
  const auto one = generator.generate(prompts, options);
  for (size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_EQ(five[i].answers.size(), 5u);
    EXPECT_EQ(five[i].answers[0].text, one[i].answers[0].text);
    EXPECT_NE(five[i].answers[0].tokens, five[i].answers[1].tokens);
  }
  options.sampling.seed = 2;
  EXPECT_NE(generator.generate(prompts, options)[0].answers[0].tokens, one[0].answers[0].tokens);
}

TEST(Generator, TheLogProbabilityIsThatOfTheWholeText) {
  const Generator generator = random_generator(3);
  const NoGrad guard;
  for (const int64_t beam : {1, 2}) {
    const GeneratedText text = generator.generate("I am", {.max_tokens = 5, .beam = beam}).answers[0];
    std::vector<int32_t> ids = generator.tokenizer().encode("I am");
    ids.insert(ids.begin(), Tokenizer::bos);
    const auto before = static_cast<int64_t>(ids.size());
    for (const std::string& token : text.tokens)
      for (int32_t id = 0; id < generator.tokenizer().size(); ++id)
        if (generator.tokenizer().token(id) == token) ids.push_back(id);
    if (beam > 1 || text.end == Generated::End::eos) ids.push_back(Tokenizer::eos);
    Pass pass;
    const auto T = std::ssize(ids);
    const Tensor logits =
        generator.model().logits(generator.model().forward(Tensor::from(ids, {1, T}), pass)).value();
    double expected = 0;
    for (int64_t t = before; t < T; ++t) {
      double sum = 0;
      for (int64_t v = 0; v < logits.dim(2); ++v) sum += std::exp(double{logits.at<float>({0, t - 1, v})});
      expected += double{logits.at<float>({0, t - 1, ids[static_cast<size_t>(t)]})} - std::log(sum);
    }
    EXPECT_NEAR(text.log_probability, expected, 1e-4);
  }
}

TEST(Generator, PromptAndTextAreTheWholeText) {
  const Generator generator = random_generator(4);
  for (const std::string& prompt : {std::string("I am"), std::string("the rain")}) {
    const GeneratedText text = generator.generate(prompt, {.max_tokens = 12}).answers[0];
    std::string pieces;
    for (const std::string& token : text.tokens) pieces += token;
    std::string expected;
    for (size_t at = 0; at < pieces.size();)
      if (pieces.compare(at, 3, "\u2581") == 0) {
        expected += ' ', at += 3;
      } else {
        expected += pieces[at++];
      }
    EXPECT_TRUE(text.text == expected || pieces.find('<') != std::string::npos) << text.text;
  }
}

TEST(Generator, AStreamIsTheFirstAnswerPieceByPiece) {
  const Generator generator = random_generator(5);
  for (const std::string& prompt : prompts)
    for (const std::vector<std::string>& stop : {std::vector<std::string>(), {"o", "old"}}) {
      const GenerateTextOptions options = {.max_tokens = 20, .stop = stop, .first_prompt = 3};
      TextGeneration stream = generator.stream(prompt, options);
      std::string text;
      int pieces = 0;
      while (const auto piece = stream.next()) {
        EXPECT_FALSE(piece->empty());
        text += *piece, ++pieces;
      }
      const GeneratedText whole = generator.generate(prompt, options).answers[0];
      EXPECT_EQ(text, whole.text);
      EXPECT_EQ(stream.result().text, whole.text);
      EXPECT_EQ(stream.result().tokens, whole.tokens);
      EXPECT_EQ(stream.result().log_probability, whole.log_probability);
      EXPECT_EQ(stream.result().end, whole.end);
      EXPECT_TRUE(stop.empty() ? pieces > 1 : text.find('o') == std::string::npos) << text;
      EXPECT_FALSE(stream.next());
    }
  EXPECT_THROW(generator.stream("a", {.beam = 2}), UsageError);
}

TEST(Generator, AStreamSaysWhetherItsPromptWasCut) {
  const Generator generator = random_generator(5);
  const std::string prompt(500, 'a');
  EXPECT_FALSE(generator.stream("a").truncated());
  EXPECT_TRUE(generator.stream(prompt).truncated());
  TextGeneration stream = generator.stream(prompt, {.max_tokens = 5});
  while (stream.next()) continue;
  EXPECT_EQ(stream.result().text, generator.generate(prompt, {.max_tokens = 5}).answers[0].text);
}

TEST(Generator, ReadsTheLastTokensOfALongPrompt) {
  const Tokenizer tokenizer = language_model_tokenizer(TokenizerType::character);
  const auto change = [](TransformerConfig& c) { c.positions = Positions::rotary, c.context_length = 20; };
  const Generator generator(random_language_model<CausalTransformer>(8, tokenizer, change), tokenizer);
  const auto text = [&](const std::string& prompt, int64_t max_input_tokens) {
    const GeneratedTexts texts = generator.generate(
        prompt, {.max_tokens = 4, .sampling = {.temperature = 0}, .max_input_tokens = max_input_tokens});
    return std::pair(texts.answers[0].text, texts.truncated);
  };
  const std::string rest = "the rain is cold and a";
  EXPECT_TRUE(text(rest, 0).second);
  EXPECT_FALSE(text(rest, 1000).second);
  EXPECT_EQ(text("no no no no " + rest, 10), text("a a " + rest, 10));
  EXPECT_THROW(text(rest, -1), UsageError);
}

TEST(Generator, RandomNumbersFollowTheNumbersOfThePrompts) {
  const Generator generator = random_generator(5);
  const auto all = generator.generate(prompts, {.max_tokens = 9, .first_prompt = 4});
  const std::vector<std::string> some = {prompts[0], prompts[2]};
  const auto found = generator.generate(some, {.max_tokens = 9, .first_prompt = 4, .offsets = {0, 2}});
  EXPECT_EQ(found[0].answers[0].text, all[0].answers[0].text);
  EXPECT_EQ(found[1].answers[0].text, all[2].answers[0].text);
  EXPECT_THROW(generator.generate(some, {.offsets = {1}}), UsageError);
}

TEST(Generator, SaysWhyATextEnded) {
  const Generator generator = random_generator(6, 20);
  EXPECT_EQ(generator.generate("a", {.max_tokens = 2, .min_tokens = 2}).answers[0].end, Generated::End::max_tokens);
  const GeneratedText full = generator.generate("a", {.max_tokens = 99, .min_tokens = 99}).answers[0];
  EXPECT_EQ(full.end, Generated::End::position_limit);
  const auto prompt = std::ssize(generator.tokenizer().encode("a")) + 1;
  EXPECT_EQ(std::ssize(full.tokens), 21 - prompt);
  EXPECT_EQ(name_of(full.end), "position-limit");
  bool ended = false;
  for (const GeneratedTexts& texts : generator.generate(std::vector<std::string>(40, "I"), {.max_tokens = 15}))
    ended = ended || texts.answers[0].end == Generated::End::eos;
  EXPECT_TRUE(ended);
}

TEST(Generator, APromptThatFillsTheModelIsCutToItsLastHalf) {
  const Generator generator = random_generator(7, 20);
  std::string prompt;
  for (int i = 0; i < 50; ++i) prompt += "I am ";
  const GeneratedTexts cut = generator.generate(prompt, {.max_tokens = 100, .min_tokens = 100});
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.answers[0].tokens.size(), 10u)
      << "20 positions, bos, 10 tokens of the prompt; the last is not read";
}

TEST(Generator, BeamAnswersAreTheBestFirst) {
  const Generator generator = random_generator(8);
  const auto texts = generator.generate(prompts, {.max_tokens = 6, .answers = 3, .beam = 4, .length_penalty = 0.5});
  const auto greedy = generator.generate(prompts, {.max_tokens = 6, .sampling = {.temperature = 0}});
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(texts[i].answers.size(), 3u);
    for (size_t a = 0; a < 3; ++a) {
      const GeneratedText& text = texts[i].answers[a];
      EXPECT_LE(text.score, texts[i].answers[a == 0 ? 0 : a - 1].score);
      EXPECT_EQ(text.score, text.log_probability / length_penalty(std::ssize(text.tokens) + 1, 0.5));
    }
    EXPECT_EQ(greedy[i].answers[0].score, greedy[i].answers[0].log_probability);
  }
}

TEST(Generator, OptionsOutOfRangeAndThoseThatExcludeEachOtherAreUsageErrors) {
  const Generator generator = random_generator(9);
  const std::vector<std::string> none;
  EXPECT_TRUE(generator.generate(none).empty());
  const auto refused = [&](const GenerateTextOptions& options) {
    EXPECT_THROW(generator.generate(none, options), UsageError);
  };
  refused({.max_tokens = 0});
  refused({.answers = 0});
  refused({.answers = 2, .sampling = {.temperature = 0}});
  refused({.stop = {""}});
  refused({.sampling = {.top_p = 2}});
  refused({.beam = 0});
  refused({.answers = 3, .beam = 2});
  refused({.sampling = {.top_k = 5}, .beam = 2});
  refused({.stop = {"x"}, .beam = 2});
  refused({.beam = 2, .lookup = 3});
  refused({.lookup = -1});
  refused({.batch_tokens = 0});
  EXPECT_THROW(generator.score(none, {.context = 61}), UsageError);
  EXPECT_THROW(generator.score(none, {.context = 10, .stride = 11}), UsageError);
}

TEST(Generator, ProposedTokensChangeNoText) {
  Generator generator = random_generator(5);
  GenerateTextOptions options = {.max_tokens = 25, .stop = {"ow"}, .sampling = {.temperature = 0}};
  const auto plain = generator.generate(prompts, options);
  const auto expect_same = [&](const char* what) {
    const auto found = generator.generate(prompts, options);
    int64_t proposed = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      const GeneratedText &a = found[i].answers[0], &b = plain[i].answers[0];
      EXPECT_EQ(a.text, b.text) << what;
      EXPECT_EQ(a.log_probability, b.log_probability) << what;
      EXPECT_EQ(a.end, b.end) << what;
      EXPECT_LE(a.speculated.accepted, a.speculated.proposed) << what;
      proposed += a.speculated.proposed;
      std::string text;
      TextGeneration stream = generator.stream(prompts[i], options);
      while (const auto piece = stream.next()) text += *piece;
      EXPECT_EQ(text, b.text) << what;
      EXPECT_EQ(stream.result().log_probability, b.log_probability) << what;
    }
    EXPECT_GT(proposed, 0) << what;
  };
  options.lookup = 5;
  expect_same("lookup");
  options.lookup = 0;
  generator.set_draft(random_generator(6));
  expect_same("draft");
}

TEST(Generator, ADraftModelMustHaveTheSameVocabulary) {
  Generator generator = random_generator(5);
  const Tokenizer characters = language_model_tokenizer(TokenizerType::character),
                  numbers = number_tokenizer("test", 12);
  for (const Tokenizer& other : {characters, numbers})
    EXPECT_THROW(generator.set_draft({random_language_model<CausalTransformer>(1, other), other}), InputError);
}

TEST(Generator, NamesTheTextThatIsNotUtf8) {
  const Generator generator = random_generator(10);
  const std::vector<std::string> texts = {"fine", "b\xff"};
  try {
    generator.generate(texts);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(), "prompt 2: invalid UTF-8 at byte 2");
  }
  EXPECT_THROW(generator.score(texts), InputError);
}

TEST(Generator, ScoresTextsIndependently) {
  const Generator generator = random_generator(11);
  const std::vector<TextScore> scores = generator.score(language_model_lines());
  for (size_t i = 0; i < scores.size(); ++i) {
    const TextScore alone =
        generator.score(std::span(language_model_lines()).subspan(i, 1), {.batch_tokens = 1}).front();
    EXPECT_EQ(alone.log_probability, scores[i].log_probability);
    EXPECT_EQ(alone.tokens, scores[i].tokens);
    EXPECT_EQ(scores[i].tokens.back(), "</s>");
    EXPECT_EQ(scores[i].tokens.size(), scores[i].token_log_probabilities.size());
    EXPECT_NEAR(scores[i].perplexity(),
                std::exp(-scores[i].log_probability / static_cast<double>(scores[i].tokens.size())), 1e-9);
  }
  const TextScore blank = generator.score(std::vector<std::string>{" "}).front();
  EXPECT_TRUE(blank.tokens.empty());
  EXPECT_EQ(blank.perplexity(), 1);
}

// Like models of minGPT: the tokens are numbers, and none begins or ends a text.
TEST(Generator, AModelWithoutEosAndBosSearchesToTheMaximumAndScoresFromTheSecondToken) {
  const Tokenizer tokenizer = number_tokenizer("test", 12);
  const Generator generator(random_language_model<CausalTransformer>(3, tokenizer), tokenizer);
  const GeneratedText answer =
      generator.generate("1 2", {.max_tokens = 4, .answers = 2, .beam = 3}).answers.front();
  ASSERT_EQ(answer.tokens.size(), 4u);
  EXPECT_EQ(answer.end, Generated::End::max_tokens);
  const TextScore whole = generator.score(std::vector<std::string>{"1 2" + answer.text})[0];
  ASSERT_EQ(whole.tokens.size(), 5u);
  EXPECT_EQ(whole.tokens[0], "2") << "the first token is not predicted";
  double sum = 0;
  for (size_t i = 1; i < whole.tokens.size(); ++i) sum += whole.token_log_probabilities[i];
  EXPECT_NEAR(sum, answer.log_probability, 1e-4);
  const std::vector<std::string> one = {"7"};
  EXPECT_TRUE(generator.score(one)[0].tokens.empty());
  EXPECT_EQ(generator.score(one)[0].perplexity(), 1);

  const Inspection seen = inspect(generator, "1 2 3");
  EXPECT_EQ(seen.tokens, (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(seen.attention[0].columns, (std::vector<std::string>{"1", "2"}));
  EXPECT_NEAR(seen.log_probability, generator.score(std::vector<std::string>{"1 2 3"})[0].log_probability, 1e-5);
  EXPECT_THROW(inspect(generator, "1"), InputError);
  EXPECT_THROW(generator.generate("1 x"), RefusedTexts);
}

TEST(Generator, SpecialTokensInATextAreParsedOnRequest) {
  const Generator generator = random_generator(1);
  const std::vector<std::string> text = {"a</s>"};
  EXPECT_EQ(generator.score(text, {.parse_special = true})[0].tokens.end()[-2], "</s>");
  EXPECT_NE(generator.score(text)[0].tokens.end()[-2], "</s>");
  const GenerateTextOptions greedy = {.max_tokens = 5, .sampling = {.temperature = 0}};
  GenerateTextOptions parsed = greedy;
  parsed.parse_special = true;
  EXPECT_EQ(generator.generate("a", greedy).answers[0].log_probability,
            generator.generate("a", parsed).answers[0].log_probability);
  EXPECT_NE(generator.generate("a</s>", greedy).answers[0].log_probability,
            generator.generate("a</s>", parsed).answers[0].log_probability);
}

TEST(Generator, OfAFolderEqualsThatOfItsParts) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("qkv-generator-{}", ::getpid());
  const Generator generator = random_generator(12);
  save_model(folder, generator.model(), {{"tokenizer.model", generator.tokenizer().checksum()}});
  EXPECT_THROW(Generator{folder}, InputError) << "no vocabulary";
  generator.tokenizer().save(folder / "tokenizer.model");
  EXPECT_EQ(Generator(folder).generate("I am").answers[0].text, generator.generate("I am").answers[0].text);
  language_model_tokenizer(TokenizerType::character).save(folder / "tokenizer.model");
  EXPECT_THROW(Generator{folder}, InputError) << "another vocabulary";
  const Tokenizer tokenizer = language_model_tokenizer();
  tokenizer.save(folder / "tokenizer.model");
  save_model(folder, random_language_model<MaskedTransformer>(1, tokenizer));
  try {
    Generator{folder};
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.what(), folder.string() +
                            ": the architecture of this model is masked: it does not generate text, which needs a "
                            "causal model");
  }
  std::filesystem::remove_all(folder);
  EXPECT_THROW(Generator{folder}, InputError) << "no folder";
}

}  // namespace qkv::generator_test
