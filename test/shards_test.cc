// --shards K --shard i: the outputs of the shards are that of the whole file, whatever K is, however often their
// processes are killed, compressed or not.

#include <csignal>
#include <string>
#include <unistd.h>
#include <vector>

#include "qkv/base/random.h"
#include "test/command_test.h"

namespace qkv::shards_test {

class Sharded : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    std::string text = "I am cold.\r\n\nI\377\nno\tthing\n";
    for (int i = 0; i < 400; ++i) text += fmt::format("I am {}.\n", std::string(static_cast<size_t>(i % 37), 'c'));
    write_file(at("in.txt"), text + "Go on.");
    std::string pairs;
    for (int i = 0; i < 100; ++i) pairs += fmt::format("Go on. {0}\tJ'ai {0}\n", i % 30);
    write_file(at("in.tsv"), pairs + "no tab\n\tGo\nGo\t\n");
    bash("cut -f 1 in.tsv >in.a; cut -f 2 in.tsv >in.b");
  }

  // Runs all shards and returns their outputs one after another. `command` ends before --output.
  static std::string run_shards(const std::string& command, int count, const std::string& suffix = "") {
    bash("rm -f out.*");
    std::string line;
    for (int i = 0; i < count; ++i)
      line += fmt::format("qkv {0} --output out.{1}{2} --shards {3} --shard {1} --quiet || exit 1\n", command, i,
                          suffix, count);
    const std::string unpack = suffix == ".gz" ? "| gzip -dc" : suffix == ".zst" ? "| zstd -dc" : "";
    line += "for ((i = 0; i < " + std::to_string(count) + "; ++i)); do cat out.$i" + suffix + "; done " + unpack;
    const Outcome outcome = bash(line);
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
    return outcome.out;
  }

  static std::string whole(const std::string& command) {
    const Outcome outcome = bash("qkv " + command + " --quiet");
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.err;
    return outcome.out;
  }
};

const std::string translate = "translate --model model --beam 1 --max-length 12 --threads 1 --input ";

TEST_F(Sharded, OutputsOneAfterAnotherAreThatOfTheWholeFile) {
  const std::string checkpoints = std::string(QKV_SOURCE_DIR) + "/test/checkpoints/";
  const std::string search = "translate --model model --max-length 12 --beam 2 --n-best 2 --scores --input in.txt";
  for (const std::string& command :
       {translate + "in.txt", search, std::string("score --model model --input in.tsv"),
        std::string("score --model model --input in.a,in.b --tokens"),
        "embed --model " + checkpoints + "minilm --input in.txt --format json",
        "perplexity --model " + checkpoints + "gpt2 --input in.txt"}) {
    const std::string expected = whole(command);
    EXPECT_GE(lines_in(expected), 100) << command;
    const bool is_first = command == translate + "in.txt";
    for (const int count : is_first ? std::vector{1, 2, 3, 7} : std::vector{3})
      EXPECT_TRUE(run_shards(command, count) == expected) << command << " " << count;
  }
}

TEST_F(Sharded, CompressedInputAndOutputHaveTheSameLines) {
  const std::string expected = whole(translate + "in.txt");
  bash(
      "gzip -k in.txt; gzip -c in.a >in.a.gz; head -n 9 in.txt | gzip -c >two.gz; tail -n +10 in.txt | gzip -c "
      ">>two.gz");
  for (const int count : {1, 3}) {
    EXPECT_TRUE(run_shards(translate + "in.txt.gz", count, ".gz") == expected) << count;
    EXPECT_TRUE(run_shards(translate + "two.gz", count) == expected) << count;
  }
  EXPECT_TRUE(run_shards("score --model model --input in.a.gz,in.b", 3) ==
              whole("score --model model --input in.a,in.b"));
  EXPECT_EQ(bash("qkv " + translate + "in.txt --output plain.gz --quiet && gzip -dc plain.gz").out, expected)
      << "by the name of the file, without shards too";
  if (bash("command -v zstd").code != 0) return;
  if (const Outcome packed = bash("zstd -q in.txt && qkv " + translate + "in.txt.zst"); packed.code != 0)
    return expect_error(packed, 1, {"this qkv was built without libzstd"});
  for (const int count : {1, 3})
    EXPECT_TRUE(run_shards(translate + "in.txt.zst", count, ".zst") == expected) << count;
}

TEST_F(Sharded, AKilledProcessLosesAndDoublesNoLine) {
  std::string text;
  for (int i = 0; i < 6000; ++i) text += fmt::format("I am {}. Go on.\n", i);
  write_file(at("many.txt"), text);
  for (const std::string suffix : {"", ".gz"}) {
    const std::string command = translate + "many.txt --quiet --shards 2 --shard 1 --output killed" + suffix;
    const std::string unpack = suffix.empty() ? "cat" : "gzip -dc";
    bash("qkv " + translate + "many.txt --quiet --shards 2 --shard 1 --output whole.txt");
    const std::string expected = read_file(at("whole.txt"));
    Random random(static_cast<uint64_t>(::getpid()));
    // Before it has begun, and then later and later, until it is done.
    int killed = 0, code = 1;
    for (double seconds = 0.003; seconds < 120 && code != 0; seconds *= 1.3) {
      const Outcome outcome =
          bash(fmt::format("timeout -s KILL {:.3f} {} {}", random.uniform(0.8, 1) * seconds, QKV_COMMAND, command));
      code = outcome.code;
      killed += code == 137;
      ASSERT_TRUE(code == 137 || code == 0) << code << outcome.err;
    }
    EXPECT_EQ(code, 0);
    EXPECT_GE(killed, 1);
    EXPECT_TRUE(bash(unpack + " killed" + suffix).out == expected);
    EXPECT_EQ(bash("ls | grep part").out, "");
  }
}

TEST_F(Sharded, AnInterruptedShardSaysThatItGoesOn) {
  const Outcome outcome = bash(
      "yes 'I am cold. Go on.' | head -n 1000000 | cat -n >much.txt; " + std::string(QKV_COMMAND) + " " +
      translate +
      "much.txt --shards 1 --output much & for i in $(seq 6000); do [ -s much.part ] && break; sleep 0.02; done; "
      "kill -TERM $!; wait $!");
  EXPECT_EQ(outcome.code, 128 + SIGTERM);
  EXPECT_NE(outcome.err.find("much.part; the same command continues"), std::string::npos) << outcome.err;
  EXPECT_GT(lines_in(read_file(at("much.part"))), 0);
}

TEST_F(Sharded, ACompleteShardIsNotComputedAgainAndAnotherCommandIsRefused) {
  const std::string command = "qkv " + translate + "in.txt --shards 3 --shard 0 --output again";
  ASSERT_EQ(bash(command).code, 0);
  const std::string before = read_file(at("again"));
  EXPECT_NE(bash(command).err.find("again is complete"), std::string::npos);
  EXPECT_EQ(bash(command + " --threads 2 --batch-tokens 100 --quiet").code, 2) << "--threads is given twice";
  EXPECT_EQ(bash(command + " --batch-tokens 100 --quiet").code, 0) << "the answers do not depend on it";
  for (const char* other : {"--scores", "--min-length 2", "--weights bf16"})
    expect_error(bash(command + " " + other), 1, {"again: it was begun by another command, input or model"});
  bash("cp -r model other; echo >>other/source.model");
  expect_error(bash("qkv translate --model other --beam 1 --max-length 12 --input in.txt --shards 3 --shard 0 "
                    "--output again"),
               1, {"another command, input or model"});
  EXPECT_EQ(read_file(at("again")), before);
}

TEST_F(Sharded, WrongShardsAreRefused) {
  const std::string command = "qkv " + translate + "in.txt --output no ";
  expect_error(bash(command + "--shards 4 --shard 4"), 2,
               {"--shard must be 0 to 3, one less than --shards, got 4"});
  expect_error(bash(command + "--shards 4 --shard -1"), 2, {"--shard must be 0 to 3"});
  expect_error(bash(command + "--shards 20 --shard 010"), 2,
               {"--shard must be an integer, without zeros before it"});
  expect_error(bash(command + "--shards 4"), 2, {"--shards 4 needs --shard 0 to 3"});
  expect_error(bash(command + "--shard 4"), 2, {"--shard needs --shards"});
  expect_error(bash(command + "--shards -1 --shard 0"), 2, {"--shards must be 1 to 1000000, got -1"});
  expect_error(bash("qkv translate --model model --shards 2 --shard 0 --output no"), 2,
               {"--shards needs --input FILE"});
  expect_error(bash("qkv translate --model model 'Go on.' --shards 2 --shard 0 --output no"), 2, {"--input FILE"});
  expect_error(bash("qkv " + translate + "in.txt --shards 2 --shard 0"), 2, {"--shards needs --output FILE"});
  expect_error(bash(command + "--json-progress -1"), 2, {"--json-progress must be 0 or more seconds, got -1"});
  expect_error(bash("qkv embed --model model --input in.txt --format npy --output no --shards 1"), 2,
               {"--shards needs --format tsv or json, a line for each vector, got npy"});
  expect_error(bash("qkv perplexity --model model --input in.txt --total --output no --shards 1"), 2, {"--total"});
  expect_error(bash("qkv translate --model model --input absent.txt --shards 1 --output no"), 1, {"absent.txt"});
  expect_error(bash("qkv translate --model absent --input in.txt --shards 1 --output no"), 1, {"absent"});
  expect_error(bash("mkfifo queue; qkv translate --model model --input queue --shards 1 --output no"), 1,
               {"queue: not a regular file"});
  EXPECT_EQ(bash("ls | grep -x 'no.*'").out, "") << "nothing is written";
}

TEST_F(Sharded, AnOutputOfAShardIsARegularFileThatOthersDoNotWrite) {
  const std::string command = "qkv " + translate + "in.txt --shards 1 --output ";
  expect_error(bash("mkdir folder; " + command + "folder"), 1, {"folder: not a regular file"});
  expect_error(bash(command + "/dev/null"), 1, {"/dev/null: not a regular file"});
  expect_error(bash("exec 9>busy.journal; flock 9; " + command + "busy"), 1,
               {"busy: another process is writing it"});
}

// example/cluster: with the shards of Slurm, and by GNU parallel where it is installed.
TEST_F(Sharded, ScriptsForClustersRunThem) {
  const std::string cluster = std::string("QKV=") + QKV_COMMAND +
                              " QKV_FLAGS='--beam 1 --max-length 12' " QKV_SOURCE_DIR "/example/cluster/";
  const std::string expected = whole(translate + "in.txt");
  const Outcome slurm = bash("for i in {0..10}; do SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=1 " + cluster +
                             "slurm_array.sh model in.txt tasks 11 2>/dev/null || exit 1; done; cat tasks/*.txt");
  EXPECT_EQ(slurm.code, 0) << slurm.err;
  EXPECT_TRUE(slurm.out == expected);
  EXPECT_EQ(bash(cluster + "slurm_array.sh model in.txt").code, 2);
  EXPECT_EQ(bash(cluster + "gnu_parallel.sh model in.txt").code, 2);
  if (bash("command -v parallel").code != 0) GTEST_SKIP() << "without GNU parallel";
  for (int run = 0; run < 2; ++run) {  // the second one finds all shards complete
    const Outcome parallel = bash(cluster + "gnu_parallel.sh model in.txt 'all of them.txt' 11 --jobs 2");
    EXPECT_EQ(parallel.code, 0) << parallel.err;
    EXPECT_TRUE(read_file(at("all of them.txt")) == expected);
  }
}

TEST_F(Sharded, ProgressIsALineOfJson) {
  const Outcome outcome = bash("qkv " + translate + "in.txt --json-progress 0.000001 --shards 1 --output progress");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("{\"command\":\"translate\",\"lines\":"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("\"lines_per_second\":"), std::string::npos);
}

}  // namespace qkv::shards_test
