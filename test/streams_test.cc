// The command on streams: every line is answered in order, whatever it contains; pipes, standard input and <(command)
// work wherever a file does; a reader or writer that stops half-way ends it in an orderly way.

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "test/command_test.h"

namespace qkv::streams_test {

using Streams = CommandTest;

const std::string translate = "qkv translate --model model --beam 2 --max-length 4 ";

TEST_F(Streams, TranslateAnswersEveryLineInOrder) {
  const Outcome good = bash("printf 'Go on.\\nI am cold.\\n' | " + translate);
  EXPECT_EQ(good.code, 0) << good.err;
  const std::string first = good.out.substr(0, good.out.find('\n') + 1), second = good.out.substr(first.size());
  const std::string long_line = "head -c 1000000 /dev/zero | tr '\\0' x";
  const Outcome outcome = bash("{ printf 'Go on.\\nI\\377\\n\\nno\\0thing\\n'; " + long_line +
                               "; printf '\\nI am cold.'; } | " + translate);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, first + "\n\n\n\n" + second);
  EXPECT_EQ(outcome.err,
            "stdin:2: invalid UTF-8 at byte 2 (0xff); wrote an empty line in its place\n"
            "stdin:4: a NUL byte at byte 3; wrote an empty line in its place\n"
            "stdin:5: a line of 1000000 bytes or more; wrote an empty line in its place\n");
}

TEST_F(Streams, AnswersOfSeveralEndWithABlankLineForEveryLine) {
  for (const char* more : {"", "--scores", "--alignment"}) {
    const Outcome outcome =
        bash("printf 'Go on.\\n\\377\\n\\nI am cold.\\n' | " + translate + "--n-best 2 " + more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    int64_t blocks = outcome.out.starts_with('\n');
    for (size_t at = 0; (at = outcome.out.find("\n\n", at)) != std::string::npos; ++at) ++blocks;
    EXPECT_EQ(blocks, 4) << more << ":\n" << outcome.out;
  }
}

TEST_F(Streams, ScoreAnswersEveryLineInOrder) {
  write_file(at("mixed.tsv"), "Go on.\tContinue.\nno tab\n\tContinue.\nGo on.\t\n\n\xff\tx\nI am\there\n");
  const Outcome outcome = bash("qkv score --model model --input mixed.tsv");
  EXPECT_EQ(outcome.code, 0);
  std::string kinds;  // of lines: a number or none
  for (size_t at = 0; at < outcome.out.size(); at = outcome.out.find('\n', at) + 1)
    kinds += outcome.out[at] == '-' ? '#' : outcome.out[at] == '\n' ? '.' : '?';
  EXPECT_EQ(kinds, "#.###.#") << outcome.out;
  EXPECT_EQ(outcome.err.substr(0, outcome.err.find("5 pairs")),
            "mixed.tsv:2: no tab, expected 'source TAB target'; wrote an empty line in its place\n"
            "mixed.tsv:6: invalid UTF-8 at byte 1 (0xff); wrote an empty line in its place\n");
  EXPECT_EQ(bash("qkv score --model model --input /dev/null").out, "");
}

TEST_F(Streams, TenOfManyBadLinesAreReportedAndAllAreCounted) {
  const Outcome outcome = bash("yes $'\\xff' | head -n 5000 | " + translate);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, std::string(5000, '\n'));
  EXPECT_EQ(lines_in(outcome.err), 11) << outcome.err;
  EXPECT_NE(outcome.err.find("5000 lines in all could not be read"), std::string::npos) << outcome.err;
}

TEST_F(Streams, StrictEndsAtTheFirstBadLineAfterTheAnswersBeforeIt) {
  expect_error(bash("printf 'Go on.\\n\\377\\nGo on.\\n' | " + translate + "--strict"), 1,
               {"stdin:2: invalid UTF-8 at byte 1 (0xff)\n"});
  EXPECT_EQ(lines_in(read_file(at("stdout"))), 1);
  write_file(at("bad.tsv"), "Go on.\tContinue.\nno tab\n");
  expect_error(bash("qkv score --model model --input bad.tsv --strict"), 1, {"bad.tsv:2: no tab"});
  EXPECT_EQ(lines_in(read_file(at("stdout"))), 1);
  bash("printf 'Go on.\\n\\377\\n' | " + translate + "--strict --output half.txt");
  EXPECT_EQ(bash("ls | grep half").out, "") << "a file appears only whole";
}

TEST_F(Streams, WhatWasReadBeforeAnErrorIsAnswered) {
  const Outcome truncated =
      bash("for i in {1..5000}; do echo \"Go on. $i\"; done | gzip | head -c 5000 >half.gz; " + translate +
           "--input half.gz");
  expect_error(truncated, 1, {"half.gz: truncated gzip file"});
  EXPECT_GT(lines_in(truncated.out), 10);
  write_file(at("three.txt"), "I\nam\ncold\n");
  write_file(at("two.txt"), "J'ai\nfroid\n");
  const Outcome uneven = bash("qkv score --model model --input three.txt,two.txt");
  expect_error(uneven, 1, {"three.txt has 3 lines, but two.txt has 2"});
  EXPECT_EQ(lines_in(uneven.out), 2);
}

TEST_F(Streams, EvaluateCountsBlankSidesAndRefusesBadLines) {
  write_file(at("blank.tsv"), "Go on.\tContinue.\n\tContinue.\nGo on.\t\n");
  const Outcome outcome = bash("qkv evaluate --model model --input blank.tsv --beam 1 --max-length 4");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(" of 3)"), std::string::npos) << outcome.out;
  write_file(at("bad.tsv"), "Go on.\tContinue.\nno tab\n");
  expect_error(bash("qkv evaluate --model model --input bad.tsv"), 1, {"bad.tsv:2: no tab"});
  expect_error(bash("qkv evaluate --model model --input /dev/null"), 1, {"/dev/null: no sentence pairs"});
}

// The command with its standard input and output as pipes.
class Running {
 public:
  explicit Running(const std::vector<std::string>& arguments, const std::string& messages = "/dev/null") {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw FileError("pipe", "test", errno);
    process_ = fork();
    if (process_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      std::vector<char*> argv = {const_cast<char*>(QKV_COMMAND)};
      for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      execv(QKV_COMMAND, argv.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }
  ~Running() {
    finish();
    if (in_ >= 0) close(in_);
    close(out_);
  }
  void write(const std::string& text) {
    EXPECT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // The output until `count` lines have arrived, or none for ten seconds.
  std::string read_lines(int64_t count) {
    std::string text;
    pollfd out = {.fd = out_, .events = POLLIN, .revents = 0};
    while (lines_in(text) < count && poll(&out, 1, 10'000) > 0) {
      char buffer[1000];
      const ssize_t n = ::read(out_, buffer, sizeof buffer);
      if (n <= 0) break;
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }
  void kill(int signal) { ::kill(process_, signal); }
  int finish() {
    if (process_ < 0) return -1;
    close(std::exchange(in_, -1));
    return wait();
  }
  int wait() {  // without closing its input
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

 private:
  pid_t process_;
  int in_, out_;
};

bool wait_for(const std::string& file, const std::string& text) {
  for (int tenths = 0; tenths < 300; ++tenths, usleep(100'000))
    if (std::filesystem::exists(file) && read_file(file).find(text) != std::string::npos) return true;
  return false;
}

TEST_F(Streams, LinesAreAnsweredAsTheyComeAndHalfALineDelaysNone) {
  Running command({"translate", "--model", at("model"), "--beam", "1", "--max-length", "4"});
  command.write("Go on.\nI am cold.\nI am");
  EXPECT_EQ(lines_in(command.read_lines(2)), 2) << "the half line kept them back";
  command.write(" here.\n");
  EXPECT_EQ(lines_in(command.read_lines(1)), 1);
  EXPECT_EQ(command.finish(), 0);
}

TEST_F(Streams, AReaderMayStopReadingTheAnswers) {
  const std::string pipe = "yes 'Go on.' | " + translate + "| head -n 1; echo ${PIPESTATUS[1]}";
  for (const std::string& line :
       {pipe, "trap '' PIPE; " + pipe}) {  // by the signal, or by EPIPE where it is ignored
    const Outcome outcome = bash(line);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out.substr(outcome.out.find('\n')), "\n141\n");
    EXPECT_EQ(outcome.err.find("qkv"), std::string::npos) << outcome.err;
  }
}

TEST_F(Streams, AnInterruptedOutputIsKeptBesideTheFile) {
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    write_file(at("out.txt"), "complete\n");
    write_file(at("out.txt.partial"), "precious\n");
    std::filesystem::remove(at("out.txt.partial.2"));
    std::filesystem::remove(at("messages"));
    Running command(
        {"translate", "--model", at("model"), "--beam", "1", "--max-length", "4", "--output", at("out.txt")},
        at("messages"));
    command.write("Go on.\n");
    command.write("I\377\n");
    ASSERT_TRUE(wait_for(at("messages"), "stdin:2"));  // so the first line is answered, or the second one with it
    command.write("\377\n");
    ASSERT_TRUE(wait_for(at("messages"), "stdin:3"));
    command.kill(signal);
    const int status = command.wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == code) << status;
    EXPECT_NE(read_file(at("messages")).find("qkv translate: interrupted; kept "), std::string::npos)
        << read_file(at("messages"));
    EXPECT_NE(read_file(at("messages")).find(at("out.txt.partial.2")), std::string::npos);
    EXPECT_GE(lines_in(read_file(at("out.txt.partial.2"))), 1);
    EXPECT_EQ(read_file(at("out.txt.partial")), "precious\n");
    EXPECT_EQ(read_file(at("out.txt")), "complete\n");
  }
}

TEST_F(Streams, AnInterruptedOutputIsNotWrittenUnderItsName) {
  std::filesystem::remove(at("messages"));
  Running command({"score", "--model", at("model"), "--input", "-", "--output", at("scores.txt")}, at("messages"));
  command.write("\377\n");
  ASSERT_TRUE(wait_for(at("messages"), "stdin:1"));
  command.kill(SIGTERM);
  command.wait();
  EXPECT_FALSE(std::filesystem::exists(at("scores.txt")));
}

TEST_F(Streams, StandardStreamsMayBeClosedOrFull) {
  expect_error(bash(translate + "<&-"), 1, {"read: stdin: Bad file descriptor"});
  expect_error(bash("echo Go on. | " + translate + ">&-"), 1, {"write: standard output: Bad file descriptor"});
  expect_error(bash("echo Go on. | " + translate + ">/dev/full"), 1, {"write: standard output: No space left"});
  EXPECT_EQ(bash("qkv translate --model nowhere 2>/dev/full").code, 1);
  EXPECT_EQ(bash("qkv translate --model nowhere 2>&-").code, 1);
  EXPECT_EQ(bash("printf '\\377\\nGo on.\\n' | " + translate + "2>/dev/full").code, 0);
  EXPECT_EQ(bash("qkv inspect --model model 'Go on.' --output picture.svg >&-").code, 1);
  EXPECT_TRUE(read_file(at("picture.svg")).starts_with("<")) << "standard output is not written into it";
}

TEST_F(Streams, ACorpusMayBeAnyStream) {
  const std::string options =
      " --model new --recipe transformer-tiny --max-steps 1 --tokenizer character --hold-out 1 --quiet --overwrite";
  ASSERT_EQ(bash("qkv train --train pairs.tsv" + options).code, 0);
  const std::string wanted = read_file(at("new/model.safetensors"));
  for (const std::string line :
       {"qkv train --train - <pairs.tsv", "cat pairs.tsv | qkv train --train -",
        "qkv train --train <(gzip -c pairs.tsv)", "mkfifo named; cat pairs.tsv >named & qkv train --train named",
        "qkv train --train <(cut -f 1 pairs.tsv),<(cut -f 2 pairs.tsv)"}) {
    const Outcome outcome = bash(line + options);
    EXPECT_EQ(outcome.code, 0) << line << ": " << outcome.err;
    EXPECT_TRUE(read_file(at("new/model.safetensors")) == wanted) << line;
  }
  expect_error(bash("qkv train --train -,- <pairs.tsv" + options), 2, {"'-,-': both sides are the same stream"});
  expect_error(bash("qkv train --train - </dev/null" + options), 1, {"-: no sentence pairs: it is empty"});
  expect_error(bash("tr '\\n' '\\r' <pairs.tsv | qkv train --train -" + options), 1,
               {"stdin:1: lines end with carriage returns alone"});
  expect_error(bash("cat pairs.tsv | TMPDIR=/dev/null qkv train --train -" + options), 1, {"/dev/null", "TMPDIR"});

  const Outcome scored = bash("qkv score --model model --input pairs.tsv");
  EXPECT_EQ(bash("qkv score --model model --input - <pairs.tsv").out, scored.out);
  EXPECT_EQ(bash("qkv score --model model --input <(cut -f 1 pairs.tsv),<(cut -f 2 pairs.tsv)").out, scored.out);
  EXPECT_EQ(
      bash("rm named; mkfifo named; gzip -c pairs.tsv >named & sleep 0.1; qkv score --model model --input named")
          .out,
      scored.out);
}

TEST_F(Streams, WrongNumbersAreReportedBeforeAnythingIsRead) {
  expect_error(bash("qkv translate --model nowhere --n-best 9 --beam 4 </dev/null"), 2,
               {"qkv translate: --n-best must be 1 to the beam of 4, got 9"});
  expect_error(bash("qkv translate --model nowhere --beam 1000"), 2,
               {"qkv translate: --beam must be 1 to 256, got 1000"});
  expect_error(bash("qkv evaluate --model nowhere --input x --beam 0"), 2,
               {"qkv evaluate: --beam must be 1 to 256, got 0"});
  for (const char* command : {"translate", "score --input x", "evaluate --input x"})
    expect_error(bash(fmt::format("qkv {} --model nowhere --batch-tokens 1000000000", command)), 2,
                 {"--batch-tokens must be 1 to 1000000, got 1000000000"});
  for (const char* command : {"translate", "score --input x", "evaluate --input x", "inspect"})
    for (const char* threads : {"-1", "100000"})
      expect_error(bash(fmt::format("qkv {} --model nowhere --threads {}", command, threads)), 2,
                   {"--threads must be 0 to ", threads});
}

TEST_F(Streams, ControlCharactersOfAVocabularyAreEscaped) {
  make_model(at("hostile"), {"\x1b[31m\x07\x08\x0b\x0c\r\x7f", "\u009b31m"},
             {.type = TokenizerType::character, .lossless = true});
  const auto controls = [](const std::string& text) {
    return std::count_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  };
  const Outcome translated =
      bash("for i in {1..30}; do echo \"$i $i\"; done | qkv translate --model hostile --beam 1 --max-length 8");
  EXPECT_EQ(translated.code, 0) << translated.err;
  EXPECT_EQ(lines_in(translated.out), 30);
  EXPECT_EQ(controls(translated.out), 30) << "line feeds";
  EXPECT_NE(translated.out.find("<0x"), std::string::npos);
  write_file(at("escape.tsv"), "a\t\x1b[31m\n");
  const Outcome scored = bash("qkv score --tokens --model hostile --input escape.tsv");
  EXPECT_EQ(lines_in(scored.out), 1) << scored.err;
  EXPECT_NE(scored.out.find("\t<0x1B> -"), std::string::npos) << scored.out;
  const Outcome missing = bash("qkv translate --model $'no\\e[31mwhere'");
  EXPECT_EQ(controls(missing.err), 1) << missing.err;
}

}  // namespace qkv::streams_test
