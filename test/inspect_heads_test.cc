// qkv inspect --heads, --ablate, --rollout and NumPy files, on small random models.
#include <fmt/format.h>

#include "qkv/base/json.h"
#include "qkv/interpret/ablation.h"
#include "qkv/interpret/head_table.h"
#include "qkv/model/causal.h"
#include "qkv/model/masked.h"
#include "test/command_test.h"

namespace qkv::inspect_heads_test {

class InspectHeads : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    const Tokenizer tokenizer = Tokenizer::train({"I am cold.", "Go on."}, {.type = TokenizerType::character});
    TransformerConfig c;
    c.architecture = Architecture::causal;
    c.source_vocabulary = c.target_vocabulary = tokenizer.size();
    c.d_model = c.ffn = 16, c.heads = 2, c.decoder_layers = 2, c.max_positions = 40;
    save_model(at("causal"), CausalTransformer(c, 1), {{"tokenizer.model", tokenizer.checksum()}});
    tokenizer.save(at("causal/tokenizer.model"));
    c.architecture = Architecture::masked;
    c.source_vocabulary = c.target_vocabulary = tokenizer.size() + 1;
    c.encoder_layers = 2;
    save_model(at("masked"), MaskedTransformer(c, 1), {{"tokenizer.model", tokenizer.checksum()}});
    tokenizer.save(at("masked/tokenizer.model"));
    write_file(at("lines.txt"), "I am cold.\nGo on.\nI am on.\n");
  }
};

TEST_F(InspectHeads, AblationPrintsTheLossOfTheLibrary) {
  const Translator translator{std::filesystem::path(at("model"))};
  const std::vector<std::string> sources = {"I am cold.", "Go on."}, references = {"J'ai froid.", "Continue."};
  const Ablation wanted = ablate(translator, sources, references,
                                 heads_named("all", translator.model().config(), "test"), {.bleu = false});
  const Outcome table = bash("qkv inspect -m model --ablate all -i pairs.tsv --limit 2 --loss-only");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(table.out, ablation_table(wanted.sorted()));
  EXPECT_EQ(table.err, fmt::format("2 sentence pairs, {} tokens; loss per token in nats\n", wanted.tokens));

  const Outcome named = bash(
      "qkv inspect -m model --ablate decoder.0.cross.1 --ablate encoder.0.self,decoder.0.self.0 -i pairs.tsv "
      "--json "
      "--quiet");
  EXPECT_EQ(named.err, "");
  const Json json = Json::parse(named.out);
  EXPECT_EQ(json["texts"].get<int>(), 3);
  ASSERT_EQ(json["ablated"].size(), 2u);
  EXPECT_EQ(json["ablated"][1]["without"].text(), "encoder.0.self,decoder.0.self.0");
  EXPECT_NE(json["ablated"][0]["loss"].get<double>(), json["whole"]["loss"].get<double>());
  EXPECT_TRUE(json["whole"].contains("bleu"));
}

TEST_F(InspectHeads, AblationOfACausalModelIsItsPerplexity) {
  const Outcome whole = bash("qkv perplexity -m causal -i lines.txt --total");
  const Outcome found = bash("qkv inspect -m causal --ablate layers -i lines.txt --json");
  const Json json = Json::parse(found.out);
  EXPECT_EQ(fmt::format("{:.4f}", json["whole"]["perplexity"].get<double>()),
            whole.out.substr(0, whole.out.find('\t')));
  EXPECT_EQ(json["ablated"].size(), 2u);
  EXPECT_FALSE(json["whole"].contains("bleu"));
}

TEST_F(InspectHeads, AblationOfAMaskedModelIsTheLossOfItsMaskedTokens) {
  const MaskFiller filler{std::filesystem::path(at("masked"))};
  const std::vector<std::string> lines = {"I am cold.", "Go on."};
  const Ablation wanted = ablate(filler, lines, heads_named("layers", filler.model().config(), "test"));
  const Outcome table = bash("qkv inspect -m masked --ablate layers -i lines.txt --limit 2");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(table.out, ablation_table(wanted.sorted()));
  EXPECT_EQ(table.err, fmt::format("2 texts, {} tokens; loss per token in nats\n", wanted.tokens));
  expect_error(bash("qkv inspect -m masked -i lines.txt --ablate all --beam 2"), 2, {"--beam", "masked"});
}

TEST_F(InspectHeads, APictureMayBeWithoutSomeHeads) {
  const std::string command = "qkv inspect -m model 'I am cold.' --target 'Go on.' --quiet -o ";
  bash(command + "whole.json && " + command + "without.json --ablate encoder.0.self");
  EXPECT_NE(read_file(at("whole.json")), read_file(at("without.json")));
  EXPECT_NE(read_file(at("without.json")).find("log-probability"), std::string::npos);
}

TEST_F(InspectHeads, ATableSaysWhatEveryHeadDoes) {
  const Translator translator{std::filesystem::path(at("model"))};
  const Outcome table = bash("qkv inspect -m model 'I am cold.' --heads; ls attention.html");
  EXPECT_EQ(table.out, head_table(inspect(translator, "I am cold.").attention));
  const Outcome repeated = bash("qkv inspect -m causal --heads --json -o repeated.svg");
  EXPECT_EQ(repeated.code, 0) << repeated.err;
  const Json json = Json::parse(repeated.out);
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[3]["head"].text(), "decoder.1.self.1");
  EXPECT_TRUE(json[0].contains("induction") && json[0].contains("at"));
  EXPECT_NE(read_file(at("repeated.svg")).find("random tokens, read twice"), std::string::npos);
}

TEST_F(InspectHeads, RolloutIsAGroupOfThePicture) {
  EXPECT_EQ(bash("qkv inspect -m model 'I am cold.' --rollout -o rollout.json").code, 0);
  const Json groups = Json::parse(read_file(at("rollout.json")))["groups"];
  ASSERT_EQ(groups.size(), 5u);
  EXPECT_EQ(groups[3]["title"].text(), "rollout of encoder self-attention");
  double sum = 0;
  for (const Json& share : groups[3]["panels"][0]["weights"][1]) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-4);
}

TEST_F(InspectHeads, NumPyFilesBeginAsTheirFormatSays) {
  EXPECT_EQ(bash("qkv inspect -m model 'I am cold.' -o weights.npz --rollout").code, 0);
  const std::string archive = read_file(at("weights.npz"));
  EXPECT_EQ(archive.substr(0, 4), "PK\3\4");
  for (const char* name : {"encoder.0.npy", "encoder.rollout.npy", "decoder.rows.npy", "cross.columns.npy"})
    EXPECT_NE(archive.find(name), std::string::npos) << name;
  bash("qkv inspect -m model 'I am cold.' -o again.npz --rollout");
  EXPECT_EQ(read_file(at("again.npz")), archive);
  EXPECT_EQ(bash("qkv inspect -m model 'I am cold.' -o one.npy --attention encoder").code, 0);
  EXPECT_NE(read_file(at("one.npy")).find("'<f4'"), std::string::npos);
}

TEST_F(InspectHeads, WhatDoesNotFitTogetherIsAnError) {
  expect_error(bash("qkv inspect -m model"), 2, {"SENTENCE is required"});
  expect_error(bash("qkv inspect -m model --heads"), 2, {"SENTENCE is required", "causal"});
  expect_error(bash("qkv inspect -m model a --ablate all"), 2, {"need a test set: --input FILE"});
  expect_error(bash("qkv inspect -m model a --ablate decoder.1.self"), 2,
               {"qkv inspect: --ablate: 'decoder.1.self' is not a head of this model", "decoder.0.cross.0"});
  expect_error(bash("qkv inspect -m model -i pairs.tsv"), 2, {"--input is the test set of --ablate HEADS"});
  expect_error(bash("qkv inspect -m model -i pairs.tsv --ablate all a"), 2, {"excludes SENTENCE"});
  expect_error(bash("qkv inspect -m model -i pairs.tsv --ablate all -o a.svg"), 2,
               {"--output is for the attention"});
  expect_error(bash("qkv inspect -m model a --limit 3"), 2, {"--limit and --loss-only are for --ablate"});
  expect_error(bash("qkv inspect -m model a --json"), 2, {"--json is for --heads"});
  expect_error(bash("qkv inspect -m causal -i lines.txt --ablate all --loss-only"), 2, {"--loss-only", "causal"});
  expect_error(bash("qkv inspect -m model -i none.tsv --ablate all"), 1, {"none.tsv"});
  expect_error(bash("qkv inspect -m model a -o weights.npx"), 2, {".html"});
}

}  // namespace qkv::inspect_heads_test
