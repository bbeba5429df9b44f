// The commands for models of one stack: generate, perplexity, embed and fill-mask on good and bad input, and what
// commands for translation models say of such a model.

#include <cmath>
#include <sstream>

#include <fmt/ranges.h>

#include "qkv/model/causal.h"
#include "qkv/model/masked.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/published/load_model.h"
#include "qkv/tensor/safetensors.h"
#include "test/command_test.h"

namespace qkv::language_models_test {

class LanguageModels : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    make_language_model<CausalTransformer>(at("causal"));
    make_language_model<MaskedTransformer>(at("masked"));
  }

  template <class AnyModel>
  static void make_language_model(const std::string& path) {
    const std::vector<std::string> lines = {"I am cold.", "Go on.", "I am here.", "the rain is cold"};
    const Tokenizer tokenizer =
        Tokenizer::train(lines, {.type = TokenizerType::bpe, .vocabulary_size = 40, .character_coverage = 1});
    TransformerConfig c;
    c.architecture = AnyModel::architecture;
    c.source_vocabulary = tokenizer.size() + (c.architecture == Architecture::masked ? 1 : 0);
    c.target_vocabulary = c.source_vocabulary;
    c.d_model = c.ffn = 16, c.heads = 2, c.encoder_layers = c.decoder_layers = 1, c.max_positions = 40;
    save_model(path, AnyModel(c, 1), {{"tokenizer.model", tokenizer.checksum()}});
    tokenizer.save(path + "/tokenizer.model");
  }

  static std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
  }
};

const std::string generate_drawing = "qkv generate --model causal --max-tokens 8 ";
const std::string generate = generate_drawing + "--seed 1 ";

TEST_F(LanguageModels, GenerateContinuesAPromptAndEveryLine) {
  const Generator generator{std::filesystem::path(at("causal"))};
  const GenerateTextOptions options = {.max_tokens = 8};
  const Outcome one = bash(generate + "--prompt 'I am'");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, generator.generate("I am", options).answers[0].text + "\n");
  EXPECT_EQ(one.err, "");

  const std::vector<std::string> prompts = {"I am", "", "Go"};
  std::string expected;
  for (const GeneratedTexts& texts : generator.generate(prompts, options)) expected += texts.answers[0].text + "\n";
  EXPECT_EQ(bash("printf 'I am\\n\\nGo\\n' | " + generate).out, expected);
  EXPECT_EQ(
      bash("printf 'I am\\n\\nGo\\n' >prompts.txt; " + generate + "--input prompts.txt --output texts.txt").code,
      0);
  EXPECT_EQ(read_file(at("texts.txt")), expected);
}

// Whose mask is a token of the vocabulary.
TEST_F(LanguageModels, AMaskedModelWithWordPieceIsTrainedAndFillsMasks) {
  bash("for i in 1 2 3 4 5 6 7 8 9; do printf 'I am cold.\\nGo on now.\\nthe rain is cold\\n'; done >corpus.txt");
  const Outcome trained = bash(
      "qkv train --model pieces --train corpus.txt --architecture masked --tokenizer wordpiece --vocabulary-size "
      "60 "
      "--d-model 16 --heads 2 --ffn 16 --encoder-layers 1 --max-steps 2 --quiet");
  EXPECT_EQ(trained.code, 0) << trained.err;
  const Outcome filled = bash("echo 'I am [MASK].' | qkv fill-mask --model pieces --top-k 2");
  EXPECT_EQ(filled.code, 0) << filled.err;
  EXPECT_EQ(bash("echo 'I am cold.' | qkv embed --model pieces").code, 0);
}

TEST_F(LanguageModels, TheDemoTeachesThemDates) {
  if (QKV_EMULATED) GTEST_SKIP() << "an emulator takes minutes for these trainings";
  for (const std::string kind : {"causal", "masked"}) {
    const Outcome demo = bash("qkv demo --steps 2 --folder demo --architecture " + kind);
    EXPECT_EQ(demo.code, 0) << demo.err;
    EXPECT_NE(demo.out.find("that it has never seen are right"), std::string::npos) << demo.out;
    EXPECT_NE(read_file(at("demo/train.txt")).find(" = 2"), std::string::npos);
    EXPECT_NE(read_file(at("demo/attention.svg")).find("="), std::string::npos);
  }
  expect_error(bash("qkv demo numbers --architecture masked --steps 2 --folder numbers"), 2, {"one length"});
}

TEST_F(LanguageModels, InspectDrawsTheSelfAttentionOfATextAsItIs) {
  const Outcome causal = bash("qkv inspect --model causal --output causal.json 'I am cold.'");
  EXPECT_EQ(causal.code, 0) << causal.err;
  EXPECT_EQ(causal.out, "I am cold.\n");
  EXPECT_NE(read_file(at("causal.json")).find("self-attention"), std::string::npos);
  const Outcome masked = bash("qkv inspect --model masked --output masked.html 'I am [MASK].'");
  EXPECT_EQ(masked.code, 0) << masked.err;
  EXPECT_EQ(masked.out, bash("echo 'I am [MASK].' | qkv fill-mask --model masked").out);
  expect_error(bash("qkv inspect --model causal --target 'Go on.' 'I am cold.'"), 2, {"--target", "causal"});
}

TEST_F(LanguageModels, InspectShowsAHeadOrTheirMeanInTheTerminal) {
  const Outcome mean = bash("COLUMNS=60 qkv inspect --model causal --text 'I am cold.'; ls attention.html");
  EXPECT_TRUE(mean.out.starts_with("I am cold.\n\nself-attention, mean of ")) << mean.out;
  EXPECT_NE(mean.out.find("shifted by one"), std::string::npos) << mean.out;
  EXPECT_NE(mean.err.find("attention.html"), std::string::npos) << "no file is written";
  expect_error(bash("qkv inspect --model causal --text --attention cross 'I am cold.'"), 2,
               {"qkv inspect: --attention cross: this model has self-attention only"});
  const Outcome head = bash("qkv inspect --model causal --text --layer 0 --head 1 --output both.svg 'I am cold.'");
  EXPECT_NE(head.out.find("\nself-attention, layer 0, head 1\n"), std::string::npos) << head.out;
  EXPECT_NE(read_file(at("both.svg")).find("head 1"), std::string::npos);
  expect_error(bash("qkv inspect --model causal --text --head 7 'I am cold.'"), 2,
               {"qkv inspect: --head 7: self-attention has 2, counted from 0"});
  expect_error(bash("qkv inspect --model causal --head 1 'I am cold.'"), 2, {"--head is for --text"});
  expect_error(bash("qkv inspect --model causal --text --layer -2 'I am cold.'"), 2, {"counted from 0, got -2"});
}

TEST_F(LanguageModels, GenerateDoesNotDependOnHowLinesAreReadTogether) {
  const std::string lines = "for i in {1..200}; do echo \"Go on $((i % 7))\"; done";
  const Outcome fast = bash(lines + " | " + generate), slow = bash("{ " + lines +
                                                                   "; } | while read -r line; do echo "
                                                                   "\"$line\"; done | " +
                                                                   generate);
  EXPECT_EQ(lines_in(fast.out), 200);
  EXPECT_EQ(fast.out, slow.out);
  EXPECT_NE(bash(lines + " | " + generate_drawing + "--seed 2").out, fast.out);
}

TEST_F(LanguageModels, GenerateGivesSeveralAnswersWithScores) {
  for (const char* how : {"", "--beam 4"}) {
    const Outcome outcome = bash(fmt::format("{} --prompt 'I am' --answers 3 --scores {}", generate, how));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<std::string> answers = split(outcome.out, '\n');
    ASSERT_EQ(answers.size(), 4u) << outcome.out;
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(answers[i].find('\t'), answers[i].find_first_not_of("-.0123456789"));
    EXPECT_EQ(answers[3], "");
  }
}

TEST_F(LanguageModels, GenerateDrawsOtherTextsInEachRunAndPrintsTheSeedThatRepeatsThem) {
  const std::string draw = "qkv generate --model causal --max-tokens 30 --prompt I";
  const Outcome first = bash(draw);
  EXPECT_EQ(first.code, 0) << first.err;
  const std::string said = "drawing tokens at random; ",
                    flag = first.err.substr(said.size(), first.err.find(" repeats") - said.size());
  ASSERT_TRUE(first.err.starts_with(said + "--seed ")) << first.err;
  EXPECT_EQ(bash(draw + " " + flag).out, first.out);
  EXPECT_EQ(bash(draw + " " + flag).err, "");
  bool differs = false;  // two seeds of a million are equal by accident, four hardly ever
  for (int i = 0; i < 4; ++i) differs = differs || bash(draw).out != first.out;
  EXPECT_TRUE(differs);
  for (const char* searched : {" --temperature 0", " --beam 2", " --quiet"})
    EXPECT_EQ(bash(draw + searched).err, "") << searched;
}

TEST_F(LanguageModels, TimingsArePrintedAtTheEnd) {
  const auto expect_timings = [](const std::string& line, const std::vector<std::string>& parts) {
    const Outcome outcome = bash(line + " --timings");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, bash(line).out);
    size_t at = 0;
    for (const std::string& part : parts) {
      at = outcome.err.find("timings: ", at);
      ASSERT_NE(at, std::string::npos) << outcome.err;
      EXPECT_NE(outcome.err.substr(at, outcome.err.find('\n', at) - at).find(part), std::string::npos)
          << outcome.err;
      ++at;
    }
  };
  expect_timings(generate + "--prompt I",
                 {"the model was read in ", "1 token of the prompt in ", " tokens generated in ", " MB"});
  expect_timings(generate + "--answers 2 --prompt I",
                 {"read in", "1 token read in ", " tokens generated in the same "});
  expect_timings("printf 'I\\nam\\n' | " + generate,
                 {"read in", " tokens read in ", " tokens generated in the same ", " MB"});
  expect_timings("echo I am here | qkv perplexity --model causal", {"read in", " tokens read in ", " MB"});
  expect_timings("echo I am here | qkv embed --model causal", {"read in", " tokens read in ", " MB"});
  expect_timings("echo I am here | qkv translate --model model --max-length 5",
                 {"read in", " tokens read in ", " tokens generated in the same ", " MB"});
  // The time of the first token is that of the prompt.
  const std::string one = bash("qkv generate --model causal --max-tokens 1 --seed 1 --prompt I --timings").err;
  const size_t at = one.find("1 token generated in ");
  ASSERT_NE(at, std::string::npos) << one;
  EXPECT_EQ(one.substr(at, one.find('\n', at) - at).find("tokens/s"), std::string::npos) << one;
}

TEST_F(LanguageModels, GenerateStopsAtAStopString) {
  const std::string longer = "qkv generate --model causal --max-tokens 30 --seed 1 --prompt I";
  const Outcome whole = bash(longer), cut = bash(longer + " --stop o --stop e");
  EXPECT_EQ(cut.out, whole.out.substr(0, whole.out.find_first_of("oe\n")) + "\n");
}

TEST_F(LanguageModels, GenerateWritesTheSameWithProposedTokens) {
  const std::string lines =
      "printf 'I am here. I am\\nGo\\n' | qkv generate --model causal --max-tokens 30 --scores ";
  for (const std::string& how : {std::string("--temperature 0"), std::string("--seed 1 --answers 2")}) {
    const Outcome plain = bash(lines + how);
    for (const std::string proposes : {" --lookup 5", " --draft causal --draft-tokens 3"}) {
      const Outcome outcome = bash(lines + how + proposes + " --timings");
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.out, plain.out) << how << proposes;
      EXPECT_NE(outcome.err.find(" accepted\n"), std::string::npos) << outcome.err;
    }
  }
  expect_error(bash("qkv generate --model causal --prompt I --draft masked"), 1,
               {"qkv generate: --draft masked: ", "it does not generate text"});
}

TEST_F(LanguageModels, BadLinesAreAnsweredInTheirPlace) {
  for (const std::string& command :
       {generate, std::string("qkv perplexity --model causal "), std::string("qkv embed --model masked "),
        std::string("qkv fill-mask --model masked ")}) {
    const Outcome outcome = bash("printf 'Go [MASK]\\n\\377\\nI am [MASK]\\n' | " + command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<std::string> answers = split(outcome.out, '\n');
    ASSERT_EQ(answers.size(), 3u) << command << outcome.out;
    EXPECT_EQ(answers[1], "") << command;
    EXPECT_NE(answers[2], "") << command;
    EXPECT_NE(outcome.err.find("stdin:2: invalid UTF-8 at byte 1 (0xff); wrote an empty line in its place\n"),
              std::string::npos)
        << outcome.err;
    expect_error(bash("printf 'Go [MASK]\\n\\377\\n' | " + command + "--strict"), 1, {"stdin:2: invalid UTF-8"});
    EXPECT_EQ(lines_in(read_file(at("stdout"))), 1) << command;
    EXPECT_EQ(bash(command + "--input /dev/null").out, "") << command;
    EXPECT_EQ(bash("yes 'I am [MASK].' | head -n 20000 | " + command + " | head -n 1").code, 0);
  }
}

// A causal model and a masked one whose vocabulary has four words and the mask, no token for others, and none that
// begins a text.
void make_models_of_four_words(const std::filesystem::path& causal, const std::filesystem::path& masked) {
  const std::filesystem::path checkpoints = std::filesystem::path(QKV_SOURCE_DIR) / "test/checkpoints";
  const auto copy = [&](const char* from, const std::filesystem::path& to) {
    std::filesystem::create_directories(to);
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(checkpoints / from / name, to / name);
    write_file(to / "tokenizer.json",
               R"({"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"},
                   "added_tokens": [{"id": 4, "content": "[MASK]", "special": true}],
                   "model": {"type": "WordLevel", "vocab": {"0": 0, "1": 1, "2": 2, "3": 3}}})");
    write_file(to / "tokenizer_config.json", R"({"mask_token": "[MASK]"})");
  };
  copy("gpt2", causal);
  copy("gpt2", causal.string() + "-with-bos");
  copy("bert", masked);
  std::string config = read_file(causal / "config.json");
  for (const std::string token : {"\"bos_token_id\": 383", "\"eos_token_id\": 383"})
    config.replace(config.find(token), token.size(), token.substr(0, 14) + ": null");
  write_file(causal / "config.json", config);
}

TEST_F(LanguageModels, LinesThatCannotBeTokenizedAreAnsweredInTheirPlace) {
  make_models_of_four_words(at("words"), at("mask"));
  for (const std::string command :
       {"generate --model words --max-tokens 2 --seed 1 --scores", "embed --model words",
        "perplexity --model words-with-bos", "fill-mask --model mask --scores"}) {
    const std::string whole = "qkv " + command, word = command.starts_with("fill") ? "[MASK]" : "1";
    const std::string good = "yes '0 " + word + " 2' | head -n 70; ";
    const Outcome good_alone = bash("{ " + good + "} | " + whole);
    EXPECT_EQ(good_alone.code, 0) << good_alone.err;
    const Outcome outcome =
        bash("{ " + good + "echo 0 7 1; echo '2 " + word + "'; echo 8; echo '" + word + "'; } | " + whole);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::vector<std::string> answers = split(outcome.out, '\n');
    ASSERT_EQ(answers.size(), 74u) << whole;
    EXPECT_EQ(outcome.out.substr(0, good_alone.out.size()), good_alone.out) << whole;
    EXPECT_EQ(answers[70] + answers[72], "") << whole;
    EXPECT_NE(answers[71], "") << whole;
    EXPECT_NE(answers[73], "") << whole;
    EXPECT_NE(
        outcome.err.find("stdin:71: the word '7' is not in the vocabulary, which has no unknown token; wrote an "
                         "empty line in its place\n"),
        std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("stdin:73: the word '8' "), std::string::npos) << outcome.err;
    expect_error(bash("{ " + good + "echo 8; echo 1; echo 9; } | " + whole + " --strict"), 1,
                 {"stdin:71: the word '8' is not in the vocabulary"});
    EXPECT_EQ(read_file(at("stdout")), good_alone.out) << whole;
  }
  const Outcome scored = bash("printf '0\\n0 1 2\\n' | qkv perplexity --model words");
  EXPECT_EQ(scored.code, 0) << scored.err;
  EXPECT_TRUE(scored.out.starts_with("\n") && scored.out.ends_with("\t2\n"))
      << "without bos, the first token is not scored: " << scored.out;
  const Outcome blank = bash("printf '0\\n\\n1\\n' | qkv generate --model words --max-tokens 2");
  EXPECT_EQ(blank.code, 0);
  EXPECT_EQ(lines_in(blank.out), 3);
  EXPECT_NE(blank.err.find("stdin:2: it is empty, and the vocabulary has no token that begins a text"),
            std::string::npos)
      << blank.err;
}

TEST_F(LanguageModels, GenerateSaysThatThePromptWasCut) {
  const std::string words = "yes cold | head -n 200 | tr '\\n' ' '";
  for (const std::string more : {"", " --beam 2", " --answers 2"}) {
    const Outcome outcome = bash(generate + more + " --prompt \"$(" + words + ")\"");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err,
              "qkv generate: --prompt: longer than the model's 40 tokens; only its end was continued\n");
  }
  EXPECT_EQ(bash(generate + "--max-input-tokens 5 --prompt \"$(" + words + ")\"").err,
            "qkv generate: --prompt: longer than 5 tokens (--max-input-tokens); only its end was continued\n");
  expect_error(bash(generate + "--max-input-tokens 41 --prompt I"), 2,
               {"qkv generate: --max-input-tokens must be 0 to the model's 40 tokens, got 41"});
}

TEST_F(LanguageModels, PerplexityPrintsEveryLineAndTheTotal) {
  const Generator generator{std::filesystem::path(at("causal"))};
  const std::vector<std::string> lines = {"I am cold.", "", "Go on."};
  const std::vector<TextScore> scores = generator.score(lines);
  const Outcome outcome = bash("printf 'I am cold.\\n\\nGo on.\\n' | qkv perplexity --model causal");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::string expected;
  double sum = 0;
  size_t tokens = 0;
  for (const TextScore& s : scores) {
    sum += s.log_probability, tokens += s.tokens.size();
    expected += s.tokens.empty()
                    ? "\n"
                    : fmt::format("{:.4f}\t{:.4f}\t{}\n", s.perplexity(), s.log_probability, s.tokens.size());
  }
  EXPECT_EQ(outcome.out, expected);
  const double mean = -sum / static_cast<double>(tokens);
  EXPECT_EQ(outcome.err, fmt::format("2 lines, {} tokens, log-probability per token {:.4f}, perplexity {:.3f}\n",
                                     tokens, -mean, std::exp(mean)));
  EXPECT_EQ(bash("printf 'I am cold.\\n\\nGo on.\\n' | qkv perplexity --model causal --total --quiet").out,
            fmt::format("{:.4f}\t{:.4f}\t{}\n", std::exp(mean), mean, tokens));
  const Outcome by_token = bash("echo 'Go on.' | qkv perplexity --model causal --tokens --context 4 --stride 2");
  EXPECT_EQ(split(by_token.out, '\t').size(), 3 + scores[2].tokens.size()) << by_token.out;
  expect_error(bash("echo a | qkv perplexity --model causal --context 41"), 2,
               {"qkv perplexity: --context must be 0 to the model's 40 tokens, got 41"});
}

TEST_F(LanguageModels, EmbedWritesTheSameVectorsInEveryFormat) {
  const std::vector<std::string> lines = {"I am cold.", "", "Go on."};
  for (const char* model : {"model", "causal", "masked"}) {
    const Tensor vectors = Embedder(std::filesystem::path(at(model))).embed(lines, {.normalize = true}).vectors;
    const std::string command =
        fmt::format("printf 'I am cold.\\n\\nGo on.\\n' | qkv embed --model {} --normalize ", model);
    const Outcome tsv = bash(command), json = bash(command + "--format json"), npy = bash(command + "--format npy");
    EXPECT_EQ(tsv.code + json.code + npy.code, 0) << tsv.err << json.err << npy.err;
    EXPECT_EQ(bash(command + "--format safetensors --output v.safetensors").code, 0);
    const Tensor saved = SafetensorsFile::load(at("v.safetensors")).get("embeddings", {3, 16});
    EXPECT_EQ(npy.out.substr(1, 5), "NUMPY");
    EXPECT_NE(npy.out.find("'shape': (3, 16)"), std::string::npos);
    const std::string bytes = npy.out.substr(npy.out.size() - 3 * 16 * sizeof(float));
    EXPECT_EQ((npy.out.size() - bytes.size()) % 64, 0u);
    EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(vectors.data<float>()), bytes.size()));
    const std::vector<std::string> rows = split(tsv.out, '\n'), arrays = split(json.out, '\n');
    ASSERT_EQ(rows.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const std::vector<std::string> numbers = split(rows[i], '\t');
      ASSERT_EQ(numbers.size(), 16u);
      EXPECT_EQ(arrays[i], fmt::format("[{}]", fmt::join(numbers, ", ")));
      for (int64_t c = 0; c < 16; ++c) {
        const float expected = vectors.at<float>({static_cast<int64_t>(i), c});
        EXPECT_EQ(std::stof(numbers[static_cast<size_t>(c)]), expected);
        EXPECT_EQ(saved.at<float>({static_cast<int64_t>(i), c}), expected);
      }
    }
  }
  EXPECT_EQ(bash("qkv embed --model masked 'I am cold.' 'Go on.'").out,
            bash("printf 'I am cold.\\nGo on.\\n' | qkv embed --model masked").out);
  expect_error(bash("qkv embed --model masked --format safetensors </dev/null"), 2,
               {"qkv embed: --format safetensors needs --output FILE"});
}

TEST_F(LanguageModels, FillMaskPrintsTextsOrTokens) {
  const FilledText filled = MaskFiller(std::filesystem::path(at("masked"))).fill("I am [MASK].", {.n_best = 3});
  const std::string echo = "echo 'I am [MASK].' | qkv fill-mask --model masked ";
  EXPECT_EQ(bash(echo).out, filled.texts[0].text + "\n");
  std::string best, tokens;
  for (const FilledText::Answer& answer : filled.texts)
    best += fmt::format("{:.4f}\t{}\n", answer.probability, answer.text);
  EXPECT_EQ(bash(echo + "--n-best 3 --scores").out, best + "\n");
  for (size_t i = 0; i < 2; ++i)
    tokens +=
        fmt::format("{}{} {:.4f}", i == 0 ? "" : "\t", filled.masks[0][i].token, filled.masks[0][i].probability);
  EXPECT_EQ(bash(echo + "--top-k 2").out, tokens + "\n\n");
  EXPECT_EQ(bash("echo 'I am <mask>.' | qkv fill-mask --model masked --mask '<mask>'").out,
            filled.texts[0].text + "\n");
  EXPECT_EQ(bash("qkv fill-mask --model masked 'I am [MASK].' '[MASK]' | head -n 1").out,
            filled.texts[0].text + "\n");
  expect_error(bash("qkv fill-mask --model masked 'I am [MASK].' --input a"), 2,
               {"qkv fill-mask: give texts as arguments or by --input, not both"});
  const Outcome none = bash("echo 'I am.' | qkv fill-mask --model masked");
  EXPECT_EQ(none.out, "I am.\n");
  EXPECT_EQ(none.err, "stdin:1: this line has no [MASK]\n");
}

TEST_F(LanguageModels, EveryCommandNamesTheCommandsForAnotherArchitecture) {
  const auto refused = [&](const std::string& command, const std::string& model, const std::string& uses) {
    expect_error(bash(fmt::format("echo a | qkv {} --model {}", command, model)), 1,
                 {fmt::format("qkv {}: --model {} is {}", command.substr(0, command.find(' ')), model, uses)});
  };
  const std::string causal =
      "a causal model; use it with qkv generate, chat, perplexity, inspect, embed, describe\n";
  for (const char* command : {"translate", "score --input pairs.tsv", "evaluate --input pairs.tsv", "fill-mask"})
    refused(command, "causal", causal);
  for (const char* command : {"translate", "generate", "perplexity"})
    refused(command, "masked", "a masked model; use it with qkv fill-mask, inspect, embed, describe\n");
  for (const char* command : {"generate", "perplexity", "fill-mask"})
    refused(command, "model",
            "an encoder-decoder; use it with qkv translate, score, evaluate, inspect, embed, describe\n");
}

// The model with weights that are numbers, and what is computed of them is not.
template <class AnyModel>
void make_overflow(const std::filesystem::path& from, const std::filesystem::path& to) {
  const AnyModel model = load_model_as<AnyModel>(from);
  model.visit([](const std::string&, Variable& weight) { weight.mutable_value().fill(3e38f); });
  save_model(to, model);
  for (const char* name : vocabulary_files)
    if (file_exists(from / name)) std::filesystem::copy_file(from / name, to / name);
}

TEST_F(LanguageModels, AModelWhoseNumbersOverflowIsNamed) {
  make_overflow<CausalTransformer>(at("causal"), at("causal-huge"));
  make_overflow<MaskedTransformer>(at("masked"), at("masked-huge"));
  make_overflow<Transformer>(at("model"), at("pairs-huge"));
  for (const std::string command :
       {"generate --model causal-huge --seed 1 --prompt I", "generate --model causal-huge --beam 2",
        "perplexity --model causal-huge", "inspect --model causal-huge --output a.json I",
        "fill-mask --model masked-huge", "embed --model causal-huge",
        "embed --model masked-huge --normalize --format npy", "embed --model pairs-huge --pooling max",
        "translate --model pairs-huge", "score --model pairs-huge --input pairs.tsv",
        "evaluate --model pairs-huge --input pairs.tsv", "inspect --model pairs-huge --output a.json I"}) {
    const std::string name = command.substr(0, command.find(' ')),
                      model = command.substr(command.find("--model"),
                                             command.find("huge") + 4 - command.find("--model"));
    const Outcome outcome = bash("echo 'I am [MASK]' | qkv " + command);
    expect_error(outcome, 1, {fmt::format("qkv {}: {}: the model computes +infinity or NaN", name, model)});
    EXPECT_EQ(outcome.out, "") << command;
  }
}

TEST_F(LanguageModels, OptionsAreRefusedBeforeTheModelIsRead) {
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    expect_error(bash(fmt::format("qkv {} --model nowhere", arguments)), 2, {message});
  };
  refused("generate --prompt a --input b", "qkv generate: --prompt and --input exclude each other");
  refused("generate --max-tokens 0", "qkv generate: --max-tokens must be at least 1, got 0");
  refused("generate --top-p 2", "qkv generate: --top-p must be 0 to 1, got 2");
  refused("generate --beam 2 --top-k 3", "qkv generate: --beam 2 finds the most likely texts: it excludes");
  refused("generate --beam 2 --answers 3", "qkv generate: --answers must be at most the beam of 2, got 3");
  refused("generate --temperature 0 --answers 3", "temperature 0 has one answer");
  refused("generate --stop ''", "stop");
  refused("generate --lookup 3 --draft a", "qkv generate: --draft and --lookup exclude each other");
  refused("generate --lookup 3 --beam 2", "qkv generate: --beam 2 excludes");
  refused("generate --draft a --beam 2", "qkv generate: --beam 2 excludes --draft");
  refused("generate --seed -1", "--seed");
  refused("fill-mask --top-k 3 --n-best 2", "qkv fill-mask: --top-k prints tokens, --n-best texts");
  refused("fill-mask --n-best 0", "qkv fill-mask: --n-best must be 1 to 100, got 0");
  refused("embed --format csv", "tsv, json, npy, safetensors");
  refused("embed --pooling middle", "mean, first, last, max, mean-sqrt-length");
}

TEST_F(LanguageModels, HelpAndCompletionKnowTheCommands) {
  for (const char* name : {"generate", "perplexity", "embed", "fill-mask"}) {
    EXPECT_NE(bash("qkv --help").out.find(name), std::string::npos);
    const Outcome help = bash(fmt::format("qkv {} --help", name));
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Examples:\n"), std::string::npos);
    for (const std::string& line : split(help.out, '\n')) EXPECT_LE(line.size(), 100u) << line;
    EXPECT_NE(bash("qkv --completion bash").out.find(fmt::format("    {}) choices=", name)), std::string::npos);
    expect_error(bash(fmt::format("qkv {} --modle x", name)), 2, {"unknown flag --modle; did you mean --model?"});
  }
}

TEST_F(LanguageModels, ControlCharactersOfATextAreEscaped) {
  const Outcome outcome = bash("printf 'I \\033[31m[MASK]\\n' | qkv fill-mask --model masked");
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos);
}

}  // namespace qkv::language_models_test
