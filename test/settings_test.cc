// Settings of commands from TOML files: types, precedence, and errors with file, line and column.

#include <filesystem>
#include <string>

#include "test/command_test.h"

namespace qkv::settings_test {

using Settings = CommandTest;

TEST_F(Settings, ComeFromAFileAndTheCommandLineWins) {
  write_file(at("settings.toml"), "recipe = \"transformer-tiny\"\nvocabulary-size = 300\n[train]\ndropout = 0.3\n");
  const Outcome file = bash("qkv describe --config " + at("settings.toml"));
  EXPECT_EQ(file.code, 0) << file.err;
  const Outcome both = bash("qkv describe --vocabulary-size 400 --config " + at("settings.toml"));
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_NE(file.out, both.out);
  EXPECT_EQ(both.out, bash("qkv describe --recipe transformer-tiny --vocabulary-size 400").out);

  write_file(at("unknown.toml"), "recipe = \"transformer-tiny\"\n[train]\ndropuot = 0.1\n");
  expect_error(bash("qkv train --model x --config " + at("unknown.toml")), 2,
               {"unknown.toml:3:1: unknown key 'dropuot' for qkv train; did you mean dropout?"});
  expect_error(bash("qkv train --config " + at("unknown.toml")), 2, {"dropuot"});
  write_file(at("section.toml"), "recipe = \"transformer-tiny\"\n[tarin]\ndropout = 0.1\n[score]\ntokens = true\n");
  expect_error(bash("qkv describe --config " + at("section.toml")), 2,
               {"section.toml:2:2: unknown section [tarin]; did you mean train?"});
  expect_error(bash("qkv train --model x --config " + at("no-such.toml")), 1,
               {"qkv train: --config: read: ", "no-such.toml"});
}

TEST_F(Settings, AreTomlWithTheTypesOfTheFlags) {
  const auto refused = [](const std::string& text, const std::string& message) {
    write_file(at("bad.toml"), text + "\n");
    expect_error(bash("qkv train --model x --train y --config " + at("bad.toml")), 2, {"bad.toml:" + message});
  };
  refused("max-steps = = 3", "1:13: this is not TOML: ");
  refused("\nrecipe = transformer-tiny", "2:12: this is not TOML: ");
  refused("max-steps = 3\nmax-steps = 4", "2:");
  refused("max-time = 30", "1:12: 'max-time' must be a string in quotation marks, got the integer 30");
  refused("max-steps = \"3\"", "1:13: 'max-steps' must be an integer, got '3'");
  refused("max-steps = 1e3", "1:13: 'max-steps' must be an integer, got the number 1000");
  refused("quiet = 1", "1:9: 'quiet' must be true or false, got the integer 1");
  refused("lossless = \"true\"", "1:12: 'lossless' must be true or false, got 'true'");
  refused("recipe = 3", "1:10: 'recipe' must be a string in quotation marks, got the integer 3");
  refused("dropout = [0.1, 0.2]", "1:11: 'dropout' must be one value, got an array of 2");
  refused("seed = 2024-01-01", "1:8: 'seed' must be an integer, got a date or time");
  refused("heads = {a = 1}", "1:1: unknown section [heads]");
  refused("[train.more]\na = 1", "1:");

  write_file(at("good.toml"),
             fmt::format("quiet = true\n[train]\ntrain = '{}'\nrecipe = 'transformer-tiny'\nmax-steps = 1\n"
                         "tokenizer = 'character'\ndropout = 0\nself-attention = ['window=4', "
                         "'softcap=30']\nlossless = false\n[score]\ninput = 'other'\n",
                         at("pairs.tsv")));
  const Outcome trained = bash("qkv train --config " + at("good.toml") + " --model " + at("new"));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.err, "");
  EXPECT_NE(read_file(at("new/config.json")).find("\"encoder_self_attention\": \"window=4+softcap=30\""),
            std::string::npos);
  EXPECT_NE(read_file(at("new/config.json")).find("\"dropout\": 0"), std::string::npos);
  std::filesystem::remove_all(at("new"));
}

TEST_F(Settings, SeveralCorporaAreFlagsOrAListOfLists) {
  write_file(at("more.en"), "Stop.\nRun.\n");
  write_file(at("more.fr"), "Arr\u00eate.\nCours.\n");
  const std::string rest = "quiet = true\nmax-steps = 1\nrecipe = 'transformer-tiny'\ntokenizer = 'character'\n";
  write_file(at("two.toml"), rest + "train = [['pairs.tsv'], ['more.en', 'more.fr']]\n");
  EXPECT_EQ(bash("qkv train --config two.toml --model two").err, "");
  const std::string stored = read_file(at("two/training/options.json"));
  EXPECT_NE(stored.find("\"pairs.tsv\",\n    \"more.en,more.fr\""), std::string::npos) << stored;

  write_file(at("rest.toml"), rest);
  EXPECT_EQ(bash("qkv train --config rest.toml --train pairs.tsv --train more.en,more.fr --model flags").err, "");
  EXPECT_EQ(read_file(at("flags/model.safetensors")), read_file(at("two/model.safetensors")));
  EXPECT_EQ(bash("qkv train --config two.toml --train pairs.tsv --model one").err, "");
  EXPECT_NE(read_file(at("one/training/options.json")).find("\"train\": \"pairs.tsv\""), std::string::npos);

  write_file(at("three.toml"), rest + "train = ['pairs.tsv', 'pairs.tsv', 'pairs.tsv']\n");
  expect_error(bash("qkv train --config three.toml --model x"), 2,
               {"three.toml:5:9: 'train' must be a file, or an array of the two files of a corpus, got 3",
                "[[\"a.tsv\"], [\"b.de\", \"b.en\"]]"});
}

TEST_F(Settings, MayHaveLettersThatAreNotAsciiInStringsAndComments) {
  const std::pair<std::string, std::string> files[] = {
      {"'\u00e9\ufb01'", "\u00e9\ufb01"},
      {"\"\\\"\u00e9\"", "\"\u00e9"},
      {"'''\u00e9''''", "\u00e9'"},
      {"\"\"\"\\\n \u2c60\\\n\u00e9\"\"\"\"\"", "\u2c60\u00e9\"\""},
  };
  for (const auto& [value, file] : files) {
    write_file(at("letters.toml"), "model = 'x' # \u00e9\ntrain = " + value + " # \u2c60\n");
    expect_error(bash("qkv train --config " + at("letters.toml")), 1, {file + ": No such file"});
  }
  // Elsewhere the error names the line, wherever a quotation mark may seem to begin a string.
  for (const std::string key :
       {"h\u00e9 = 1", "h = {a\u025d = 1}", "h = 1\u00e9", "h = 1'''\u00e9", "h = '''''''\u00e9",
        "h = \"\"\"\\\u00e9\"\"\"", "h = true\u00e9", "h = 'a'\ufb01", "h\u00a0= 1", "\u2c60"}) {
    write_file(at("letters.toml"), "heads = 8 # \u00e9\n" + key + "\n");
    expect_error(bash("qkv describe --config " + at("letters.toml")), 2, {"letters.toml:2", "this is not TOML"});
  }
}

TEST_F(Settings, AreRefusedAtOnceAndOnOneLineWhenTooLargeOrTooDeep) {
  std::string deep = "[a";
  for (int i = 0; i < 20'000; ++i) deep += ".a";  // as sections: 12 GB
  write_file(at("deep.toml"), "dropout = 0.1\n" + deep + "]\nb = 1\n");
  expect_error(bash("qkv describe --config " + at("deep.toml")), 2, {"deep.toml:2: a line with 20000 dots"});
  for (const std::string open : {"[", "{a=", "{a.a.a.a.a.a.a.a.a=["}) {
    std::string nested = "seed = ";
    for (size_t i = 0; i < 60'000 / open.size(); ++i) nested += open;
    write_file(at("nested.toml"), nested + "\n");
    const Outcome outcome = bash("qkv train --model x --config " + at("nested.toml"));
    expect_error(outcome, 2, {"nested.toml:1"});
  }
  expect_error(bash("qkv describe --config /dev/zero"), 1, {"/dev/zero", "more than 65536 bytes"});
  for (const std::string section : {"[$x]\n", "[\n", "[[\x01"}) {
    write_file(at("section.toml"), "heads = {a.b = 1}\n" + section);
    expect_error(bash("qkv describe --config " + at("section.toml")), 2, {"section.toml:2", "this is not TOML"});
  }
  write_file(at("control.toml"), "\"\\u001b[31m\" = 1\n");
  expect_error(bash("qkv describe --config " + at("control.toml")), 2, {"control.toml", "unknown key '\\x1b[31m'"});
}

}  // namespace qkv::settings_test
