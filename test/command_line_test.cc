// How the command line is written: help, short and boolean flags, the names of other programs.

#include <sstream>

#include "test/command_test.h"

namespace qkv::command_line_test {

constexpr const char* commands[] = {"demo",      "train",   "translate",  "generate", "chat",    "embed",
                                    "fill-mask", "score",   "perplexity", "evaluate", "inspect", "describe",
                                    "explain",   "compare", "convert",    "plot",     "bench",   "shortlist"};

class CommandLine : public CommandTest {
 protected:
  static void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
    size_t at = 0;
    for (const std::string& part : parts) {
      const size_t found = text.find(part, at);
      EXPECT_NE(found, std::string::npos) << "'" << part << "' does not follow in:\n" << text;
      at = found == std::string::npos ? at : found + part.size();
    }
  }
};

TEST_F(CommandLine, HelpAndVersionAreAskedForInEveryCommonWay) {
  const std::string help = bash("qkv --help").out;
  expect_parts(help, {"Usage: ", "COMMAND", "translate", "Examples:", "qkv help train"});
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  for (const char* way : {"qkv help", "qkv -h", "qkv"}) EXPECT_EQ(bash(way).out, help) << way;
  const std::string of_train = bash("qkv train --help").out;
  for (const char* way : {"qkv help train", "qkv train -h"}) EXPECT_EQ(bash(way).out, of_train) << way;
  const std::string version = bash("qkv --version").out;
  EXPECT_TRUE(version.starts_with("qkv 0.")) << version;
  for (const char* way : {"qkv version", "qkv -v", "qkv -V"}) EXPECT_EQ(bash(way).out, version) << way;
  expect_error(bash("qkv help trian"), 2, {"unknown command 'trian'; did you mean train?"});
}

TEST_F(CommandLine, HelpOfEveryCommandHasGroupsAndExamples) {
  for (const char* name : commands) {
    const std::string help = bash(fmt::format("qkv help {}", name)).out;
    EXPECT_EQ(help.find("\nOptions:\n"), std::string::npos) << name << ": a flag without a group";
    const size_t examples = help.find("\nExamples:\n");
    ASSERT_NE(examples, std::string::npos) << name;
    EXPECT_LT(help.find("\nGeneral:\n"), examples) << name;
    EXPECT_NE(help.find(fmt::format("qkv {}", name), examples), std::string::npos) << name;
    std::istringstream lines(help.substr(0, examples));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
  expect_parts(bash("qkv help train").out,
               {"Usage: ", "qkv train --model FOLDER [OPTIONS]", "\nRequired:\n", "-m, --model FOLDER",
                "--train FILE", "\nArchitecture:\n", "--ffn-bias=true", "\nOptimization:\n", "--learning-rate",
                "\nGeneral:\n", "--threads"});
}

TEST_F(CommandLine, AWideUsageGoesOnBelow) {
  if (QKV_EMULATED) GTEST_SKIP() << "an emulator is given the name of a file, and no other";
  const std::string path = "/" + std::string(60, 'a') + "/qkv";
  const Outcome wide = bash(fmt::format("(exec -a {} {} help shortlist)", path, QKV_COMMAND));
  expect_parts(wide.out, {"/qkv shortlist", "--output FILE [OPTIONS]\n\nRequired:"});
  EXPECT_EQ(wide.out.find("/qkv shortlist --model FOLDER --train FILE[,FILE] --output FILE"), std::string::npos)
      << wide.out;
}

TEST_F(CommandLine, TheManualPageHasEveryFlagAndIsWellFormed) {
  const std::string page = bash("qkv --man").out;
  EXPECT_TRUE(page.starts_with(".TH QKV 1 \"\" \"qkv 0.")) << page.substr(0, 80);
  expect_parts(page, {".SH NAME", ".SH SYNOPSIS", ".SH COMMANDS", ".SS train", "\\-m, \\-\\-model", ".SS convert",
                      ".SH EXIT STATUS"});
  for (const char* name : commands) {
    const std::string help = bash(fmt::format("qkv help {}", name)).out;
    EXPECT_NE(page.find(fmt::format(".SS {}\n", name)), std::string::npos) << name;
    EXPECT_EQ(help.find("--man"), std::string::npos) << "it is hidden";
  }
  if (bash("command -v groff").code != 0) GTEST_SKIP() << "no groff";
  const Outcome formatted = bash("qkv --man | groff -man -Tascii -ww 2>&1 >/dev/null");
  EXPECT_EQ(formatted.out, "");
}

TEST_F(CommandLine, ShortFlagsStandForTheLongOnes) {
  const Outcome translated =
      bash("printf 'Go on.\\n' >in.txt; qkv translate -m model -i in.txt -o out.txt --quiet");
  EXPECT_EQ(translated.code, 0) << translated.err;
  EXPECT_EQ(lines_in(read_file(at("out.txt"))), 1);
  expect_error(bash("qkv translate -m a --model b"), 2, {"qkv translate: --model is given twice"});
  expect_error(bash("qkv generate -m nowhere -n many"), 2, {"qkv generate: --max-tokens must be an integer"});
  // The value of a flag is never read as a flag.
  expect_error(bash("qkv generate -m nowhere -p -m"), 1, {"--model nowhere is not a model folder"});
  expect_error(bash("qkv translate -model x"), 2, {"unknown flag -model; did you mean --model?"});
  expect_error(bash("qkv demo -m x"), 2, {"unknown flag -m; qkv calls it --folder"});
  write_file(at("short.toml"), "model = 'nowhere'\n");
  EXPECT_EQ(bash("qkv translate --config short.toml -m model </dev/null").code, 0);
}

TEST_F(CommandLine, BooleanFlagsAreAllWrittenInTheSameWays) {
  const auto described = [](const std::string& flags) {
    const Outcome outcome = bash("qkv describe --recipe transformer-tiny " + flags);
    EXPECT_EQ(outcome.code, 0) << flags << ": " << outcome.err;
    return outcome.out;
  };
  const std::string with = described(""), without = described("--ffn-bias=false");
  EXPECT_NE(with, without);
  for (const char* on : {"--ffn-bias", "--ffn-bias=true", "--ffn-bias true"}) EXPECT_EQ(described(on), with) << on;
  for (const char* off : {"--no-ffn-bias", "--ffn-bias false"}) EXPECT_EQ(described(off), without) << off;
  for (const char* value : {"true", "false"}) {
    write_file(at("bias.toml"), fmt::format("recipe = 'transformer-tiny'\nffn-bias = {}\n", value));
    EXPECT_EQ(described("--config bias.toml").size(), (value == std::string("true") ? with : without).size());
  }
  expect_error(bash("qkv train --train missing.tsv --model new --lossless --threads 1"), 1, {"missing.tsv"});
  expect_error(bash("qkv train --train missing.tsv --model new --lossless=maybe"), 2,
               {"qkv train: --lossless must be true or false, got 'maybe'"});
  expect_error(bash("qkv train --train missing.tsv --model new --quiet=false --no-quiet"), 2,
               {"--quiet is given twice"});
  expect_error(bash("qkv train --train missing.tsv --model new --no-dropout"), 2, {"unknown flag --no-dropout"});
  EXPECT_EQ(bash("qkv translate -m model --no-repeat-ngram 2 --no-quiet </dev/null").code, 0);
}

TEST_F(CommandLine, NamesOfOtherProgramsAreAnsweredByOurs) {
  const auto answered = [](const char* command, const char* flag, const char* ours) {
    expect_error(bash(fmt::format("qkv {} -m x {} 3", command, flag)), 2,
                 {fmt::format("qkv {}: unknown flag {}; qkv calls it {}", command, flag, ours)});
  };
  answered("translate", "--num-beams", "--beam");
  answered("translate", "--beam-size", "--beam");
  answered("translate", "--num-return-sequences", "--n-best");
  answered("translate", "--max_new_tokens", "--max-length");
  answered("generate", "--num-return-sequences", "--answers");
  answered("generate", "--do-sample", "--temperature; above 0 it draws tokens");
  answered("generate", "--temp", "--temperature");
  answered("generate", "--max-length", "--max-tokens");
  answered("generate", "--n-predict", "--max-tokens");
  answered("train", "--lr", "--learning-rate");
  answered("train", "--batch-size", "--batch-sentences");
  answered("train", "--epochs", "--max-epochs");
  answered("train", "--num-layers", "--decoder-layers (and --encoder-layers, that of the encoder)");
  answered("evaluate", "--ref", "--references");
  answered("translate", "--terminology", "--terms");
  answered("translate", "--force-decoding", "--target-prefix");
  answered("generate", "-t", "--threads");
  answered("convert", "--outtype", "--weights");
  answered("convert", "--to", "--format");
  answered("chat", "--system-prompt", "--system");
  answered("chat", "-p", "--system for how to answer; messages are lines of standard input");
  expect_error(bash("qkv bench -m x"), 2, {"unknown flag -m; qkv calls it --recipe, whose weights are random"});
  expect_error(bash("qkv plot -m x"), 2, {"unknown flag -m; it takes folders of models as they are"});
  expect_error(bash("qkv train --gpu 0"), 2, {"unknown flag --gpu; qkv computes on the processor"});
  // A name is not answered by a flag that the command does not have.
  expect_error(bash("qkv convert --lr 3"), 2, {"qkv convert: unknown flag --lr\n"});
}

TEST_F(CommandLine, CommandsOfOtherProgramsAreAnsweredByOurs) {
  expect_error(bash("qkv run"), 2, {"unknown command 'run'; qkv chat talks with a model"});
  expect_error(bash("qkv help fine_tune"), 2, {"unknown command 'fine_tune'; it is qkv train --init MODEL"});
  expect_error(bash("qkv eval -m x"), 2, {"unknown command 'eval'; it is qkv evaluate"});
  expect_error(bash("qkv Interactive"), 2, {"it is qkv translate"});
  expect_error(bash("qkv quantize a b"), 2, {"it is qkv convert --weights FORMAT"});
  expect_error(bash("qkv pull qwen"), 2, {"a model is a folder or a GGUF file on disk: hf download"});
}

TEST_F(CommandLine, CompletionOffersNoUnitsAsValues) {
  EXPECT_EQ(bash("qkv --completion bash | grep -E \"choices='[^']*[A-Z]\"").out, "");
}

TEST_F(CommandLine, CompletionRunsInFishAndZshWhereTheyAreInstalled) {
  const auto has = [](const char* shell) {
    return std::system(fmt::format("command -v {} >/dev/null", shell).c_str()) == 0;
  };
  if (!has("fish") && !has("zsh")) GTEST_SKIP() << "neither fish nor zsh is installed";
  write_file(at("tr.txt"), "a file that is not a command");
  if (has("fish")) {
    write_file(at("qkv.fish"), bash("qkv --completion fish").out);
    const auto completed = [&](const std::string& line) {
      return bash(fmt::format(
                      "fish --no-config -c \"source qkv.fish; complete -C '{}'\" | cut -f 1 | sort | tr '\\n' ' '",
                      line))
          .out;
    };
    EXPECT_EQ(completed("qkv tr"), "train translate ");
    EXPECT_EQ(completed("qkv train --recipe transformer-b"), "transformer-base transformer-big ");
    EXPECT_EQ(completed("qkv inspect --attention "), "automatic cross decoder encoder ");
  }
  if (has("zsh")) {
    write_file(at("_qkv"), bash("qkv --completion zsh").out);
    // What the function offers, without a terminal.
    const std::string ask =
        "zsh -f -c 'compadd() { print -- ${@[2,-1]}; }; _files() { print files; }; source ./_qkv; ";
    EXPECT_NE(bash(ask + "words=(qkv tr); CURRENT=2; _qkv'").out.find(" translate "), std::string::npos);
    EXPECT_EQ(bash(ask + "words=(qkv inspect --attention \"\"); CURRENT=4; _qkv'").out,
              "automatic encoder decoder cross\n");
    EXPECT_EQ(bash(ask + "words=(qkv inspect --output \"\"); CURRENT=4; _qkv'").out, "files\n");
  }
}

}  // namespace qkv::command_line_test
