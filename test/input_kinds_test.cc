// What commands read: texts as arguments, and what is given in place of text, sentence pairs or a model.

#include "test/command_test.h"

namespace qkv::input_kinds_test {

class InputKinds : public CommandTest {};

TEST_F(InputKinds, SentencesAreTranslatedFromArgumentsAsFromLines) {
  const Outcome lines = bash("printf 'Go on.\\nI am cold.\\n' | qkv translate -m model --max-length 8");
  const Outcome arguments = bash("qkv translate -m model --max-length 8 'Go on.' 'I am cold.' </dev/null");
  EXPECT_EQ(arguments.code, 0) << arguments.err;
  EXPECT_EQ(arguments.out, lines.out);
  EXPECT_EQ(lines_in(bash("qkv translate 'Go on.' -m model --max-length 8").out), 1);
  EXPECT_EQ(lines_in(bash("qkv translate -m model --max-length 8 -- '-5 degrees'").out), 1);
  EXPECT_EQ(lines_in(bash("qkv translate -m model --max-length 8 '[Go, on]' '{}'").out), 2);
  expect_error(bash("qkv translate -m model 'Go on.' -i pairs.tsv"), 2, {"sentences as arguments or by --input"});
  expect_error(bash("qkv translate -m model $'a\\nb'"), 2, {"'a\\x0ab' has a line break", "--input FILE"});
}

TEST_F(InputKinds, APersonAtATerminalIsAskedForTheLines) {
  const std::string hint = "reading sentences from the terminal, one per line; Ctrl-D ends";
  if (bash("command -v script").code != 0) GTEST_SKIP() << "no script(1), which makes a terminal";
  const auto at_terminal = [](const std::string& line) {
    write_file(at("typed.sh"), fmt::format("cd {}; {} {} </dev/tty\n", folder->string(), QKV_COMMAND, line));
    return bash("printf 'Go on.\\n\\004' | script -qec 'bash typed.sh' /dev/null").out;
  };
  EXPECT_NE(at_terminal("translate -m model --max-length 4").find(hint), std::string::npos);
  EXPECT_EQ(at_terminal("translate -m model --max-length 4 --quiet").find(hint), std::string::npos);
  EXPECT_EQ(bash("echo 'Go on.' | qkv translate -m model --max-length 4").err.find(hint), std::string::npos);
}

TEST_F(InputKinds, ATableGivenAsTextIsReportedOnce) {
  const Outcome outcome = bash("qkv translate -m model --max-length 4 -i pairs.tsv");
  EXPECT_EQ(outcome.code, 0);
  expect_error(outcome, 0, {"pairs.tsv:1: this line has a tab", "qkv evaluate, or --target-prefix?"});
  EXPECT_EQ(bash("qkv translate -m model --max-length 4 -i pairs.tsv --target-prefix").err, "");
}

TEST_F(InputKinds, FilesThatAreNotTextAreNamedAndAnsweredByNothing) {
  const Outcome outcome = bash(
      "printf 'PK\\3\\4\\24\\0\\6\\0xl/workbook.xml\\nmore\\n' >sheet.xlsx\n"
      "qkv translate -m model -i sheet.xlsx");
  expect_error(outcome, 1, {"sheet.xlsx: this is a document of Office (xlsx, docx)", "(TSV)"});
  EXPECT_EQ(outcome.out, "");
  expect_error(bash("printf '\\377\\376H\\0i\\0\\n\\0' >utf16.tsv\nqkv train --train utf16.tsv -m new"), 1,
               {"utf16.tsv: this is UTF-16; convert it: iconv -f UTF-16 -t UTF-8"});
  EXPECT_FALSE(std::filesystem::exists(at("new")));
}

TEST_F(InputKinds, TrainingShowsTheFirstPairThatItRead) {
  const std::string train =
      "qkv train -m new --overwrite --recipe transformer-tiny --d-model 16 --ffn 16 --max-steps 1 "
      "--tokenizer character --train ";
  const Outcome trained = bash(train + "pairs.tsv");
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("for example: I am cold.  ->  J'ai froid.\n"), std::string::npos) << trained.err;
  const Outcome refused =
      bash("for i in 1 2 3 4; do printf '100%d\\tI am cold.\\t500%d\\tMir ist kalt.\\n' $i $i; done >ids.tsv\n" +
           train + "ids.tsv");
  expect_error(refused, 1, {"ids.tsv: column 1 is a number in every line", "cut -f 2,4 ids.tsv > pairs.tsv"});
}

TEST_F(InputKinds, WhatIsNotAModelFolderIsAnsweredByTheWayToOne) {
  expect_error(bash("qkv generate -m gpt2 text"), 1,
               {"--model gpt2 is not a model folder: it does not exist", "hf download gpt2 --local-dir gpt2",
                "qkv train --model gpt2 --architecture causal --train TEXT.txt"});
  expect_error(bash("qkv generate -m meta-llama/Llama-2-7b text"), 1, {"hf download meta-llama/Llama-2-7b"});
  expect_error(bash("qkv translate -m model/model.safetensors text"), 1,
               {"model.safetensors is not a model folder: it is a file"});
  expect_error(bash("qkv translate -m model/config.json text"), 1,
               {"it is a file of one; give the folder, model\n"});
  expect_error(bash("cd model; qkv translate -m config.json text"), 1,
               {"it is a file of one; give the folder, .\n"});
  expect_error(bash("qkv generate -m qwen.gguf text"), 1,
               {"--model qwen.gguf: there is no such file; hf download REPOSITORY qwen.gguf --local-dir ."});
  expect_error(bash("qkv generate model text"), 2,
               {"qkv generate: --model is required", "did you mean --model model?"});
  expect_error(bash("qkv chat qwen.gguf"), 2, {"unexpected argument 'qwen.gguf'; did you mean --model qwen.gguf?"});
  expect_error(bash("qkv chat -m model hello"), 2, {"'hello'; messages are lines of standard input"});
  expect_error(bash("qkv generate -m . text"), 1, {"it has folders of models; give one, such as ./model\n"});
}

TEST_F(InputKinds, TermsAreTranslatedAsTheirListSays) {
  const std::string translate = "qkv translate -m model --max-length 12 ";
  write_file(at("terms.tsv"), "Go\tal a\n");
  const Outcome found = bash(translate + "--terms terms.tsv 'Go on.' 'I am cold.'");
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_NE(found.out.substr(0, found.out.find('\n')).find("al a"), std::string::npos) << found.out;
  EXPECT_EQ(found.out.substr(found.out.find('\n') + 1), bash(translate + "'I am cold.'").out);
  expect_error(bash(translate + "--terms terms.tsv --alternatives --n-best 2 Go"), 2, {"alternatives"});
  write_file(at("terms.tsv"), "Go\tal\nGo\n");
  expect_error(bash(translate + "--terms terms.tsv Go"), 1, {"terms.tsv:2", "SOURCE TAB TRANSLATION, got 'Go'"});
  write_file(at("terms.tsv"), "Go\t\u4f60\n");
  expect_error(bash(translate + "--terms terms.tsv Go"), 2,
               {"has characters that the vocabulary of this model lacks"});
}

}  // namespace qkv::input_kinds_test
