// Trainings of a causal model whose rows are shared by several ranks, each rank a thread.
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"
#include "qkv/train/train_test.h"

namespace qkv::context_parallel_test {

class ContextParallel : public train_test::TrainTest {
 protected:
  TrainOptions text_training(const std::string& model, int64_t context_parallel) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += fmt::format("{} {} {} {}\n", i % 7, i % 5, i % 3, i % 7);
    write_file(folder_ / "text.txt", text);
    TrainOptions o = small_training(folder_ / "text.txt", folder_ / model);
    o.architecture.transformer().architecture = Architecture::causal;
    o.max_length = 32;
    o.hold_out = 5;
    o.batch_tokens = 64;
    o.accumulate = o.pieces = 2;
    o.max_steps = 9;
    o.save_every = o.valid_every = 3;
    o.eps = 1e-3;  // else Adam makes full steps of gradients that are nothing but rounding
    o.context_parallel = context_parallel;
    return o;
  }
  double loss_of(int ranks, const TrainOptions& options) {
    double loss = 0;
    run_ranks(ranks, [&](Communicator& c) {
      const TrainResult result = train(options, c);
      EXPECT_EQ(result.steps, options.max_steps);
      if (c.rank() == 0) loss = result.loss;
    });
    return loss;
  }
  NamedTensors parameters_in(const std::string& model) {
    const SafetensorsFile file = SafetensorsFile::load(folder_ / model / "model.safetensors");
    NamedTensors all;
    for (const std::string& name : file.names()) all.emplace_back(name, file.get(name));
    return all;
  }
};

TEST_F(ContextParallel, HasTheLossesOfWholeRows) {
  const double whole = loss_of(1, text_training("whole", 1));
  for (const int ranks : {2, 4}) {
    const std::string model = fmt::format("m{}", ranks);
    EXPECT_NEAR(loss_of(ranks, text_training(model, ranks)), whole, 1e-5 * whole) << ranks;
    EXPECT_LT(distance(parameters_in("whole"), parameters_in(model)), 1e-5) << ranks;
  }
}

// Two ranks that share rows; two and four of them, the latter also with a sharded optimizer and resumed by two.
TEST_F(ContextParallel, AnyNumberOfGroupsIsTheSameBitForBit) {
  loss_of(2, text_training("one", 2));
  loss_of(4, text_training("two", 2));
  expect_same_weights("one", "two");
  TrainOptions o = text_training("resumed", 2);
  o.max_steps = 6;
  o.shard_optimizer = true;
  loss_of(4, o);
  o.max_steps = 9;
  o.resume = true;
  loss_of(2, o);
  expect_same_weights("one", "resumed");
}

TEST_F(ContextParallel, RefusesWhatCannotBeShared) {
  const auto refused = [&](int ranks, const TrainOptions& o, const std::string& word) {
    try {
      run_ranks(ranks, [&](Communicator& c) { train(o, c); });
      ADD_FAILURE() << "no error about " << word;
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  refused(3, text_training("m", 2), "context-parallel 2 must divide the number of processes, 3");
  TrainOptions o = text_training("m", 2);
  o.max_length = 30;
  refused(2, o, "max-length must be a multiple of that, got 30");
  o = text_training("m", 2);
  refused(8, o, "the number of processes divided by context-parallel must divide pieces");
  o = options("m");
  o.context_parallel = 2;
  refused(2, o, "is for causal language models");
}

}  // namespace qkv::context_parallel_test
