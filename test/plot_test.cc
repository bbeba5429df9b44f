// qkv plot, and what qkv train leaves and prints for it.

#include <string>

#include "test/command_test.h"

namespace qkv::plot_test {

using Plot = CommandTest;

TEST_F(Plot, DrawsTheCurvesOfTrainings) {
  std::string pairs;
  for (int i = 0; i < 200; ++i) pairs += fmt::format("{}\t{}\n", i, i % 7);
  write_file(at("pairs.tsv"), pairs);
  const std::string train =
      "qkv train --train pairs.tsv --hold-out 10 --tokenizer character --vocabulary-size 30 --d-model 16 --heads 2 "
      "--ffn 16 --encoder-layers 1 --decoder-layers 1 --report-every 2 --valid-every 4 --max-steps 8 --model ";
  const Outcome trained = bash(train + "a");
  ASSERT_EQ(trained.code, 0) << trained.err;
  for (const char* fragment :
       {"\n  hypothesis  ", "best: loss ", "held out of training: a/held-out.tsv\n",
        "Try next:\n  cut -f1 a/held-out.tsv", " evaluate --model a --input a/held-out.tsv\n",
        " train --model a --resume --max-steps 16\n"})
    EXPECT_NE(trained.err.find(fragment), std::string::npos) << fragment << " is not in: " << trained.err;
  ASSERT_EQ(bash(train + "b --quiet --max-time 60s").code, 0);

  const Outcome svg = bash("qkv plot a b --output curves.svg && grep -c '<path' curves.svg");
  EXPECT_EQ(svg.code, 0) << svg.err;
  EXPECT_EQ(svg.out, "8\n");  // two losses, BLEU and the rate of two trainings
  EXPECT_EQ(bash("qkv plot a --quiet && grep -c '<html' curves.html").out, "1\n");
  if (bash("command -v rsvg-convert").code == 0) {
    EXPECT_EQ(bash("qkv plot a --output curves.png --quiet && head -c 4 curves.png | tail -c 3").out, "PNG");
  }
  EXPECT_NE(bash("qkv plot --help").out.find("[RUN ...]"), std::string::npos);
  expect_error(bash("qkv plot"), 2, {"qkv plot: RUN is required"});
  expect_error(bash("qkv plot a --output curves.pdf"), 2,
               {"'curves.pdf': the name must end in .svg, .png or .html"});
  expect_error(bash("qkv plot missing"), 1, {"missing: this is neither the folder of a model nor a log.jsonl"});
}

TEST_F(Plot, ATrainingThatIsInterruptedPrintsTheCommandThatContinuesIt) {
  const Outcome stopped = bash(
      QKV_COMMAND
      " train --train pairs.tsv --hold-out 1 --tokenizer character --vocabulary-size 60 --d-model 16 --heads 2 "
      "--ffn 16 --encoder-layers 1 --decoder-layers 1 --report-every 1 --max-time 50s --model 'my model' & "
      "until [ -s 'my model/training/log.jsonl' ]; do sleep 0.02; done; kill -TERM $!; wait $!");
  EXPECT_EQ(stopped.code, 128 + 15) << stopped.err;
  EXPECT_TRUE(stopped.err.ends_with(" train --model 'my model' --resume\n")) << stopped.err;
}

}  // namespace qkv::plot_test
