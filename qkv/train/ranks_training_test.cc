// Trainings that several ranks share, each rank a thread: the same files as of one, bit for bit.
#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"
#include "qkv/train/checkpoint.h"
#include "qkv/train/train_test.h"

namespace qkv::train_test {

class RanksTraining : public TrainTest {
 protected:
  TrainOptions in_pieces(const std::string& model, int64_t pieces = 8) {
    TrainOptions o = options(model);
    o.pieces = pieces;
    o.accumulate = pieces + 1;  // one piece is larger than the others
    o.batch_tokens = 40;
    o.max_steps = 9;
    o.save_every = o.valid_every = 3;
    return o;
  }
  TrainResult train_by(int ranks, const TrainOptions& options) {
    TrainResult result;
    run_ranks(ranks, [&](Communicator& c) {
      const TrainResult own = train(options, c);
      EXPECT_EQ(own.steps, options.max_steps) << c.rank();
      if (c.rank() == 0) result = own;
    });
    return result;
  }
  void expect_same(const std::string& a, const std::string& b) {
    expect_same_weights(a, b);
    EXPECT_EQ(log_without_times(folder_ / a), log_without_times(folder_ / b));
  }
};

TEST_F(RanksTraining, AnyNumberOfRanksIsTheSameBitForBit) {
  train(in_pieces("m1"));
  for (const int ranks : {2, 4, 8}) {
    const std::string model = fmt::format("m{}", ranks);
    train_by(ranks, in_pieces(model));
    expect_same("m1", model);
  }
}

TEST_F(RanksTraining, ShardedOptimizersAreTheSameBitForBit) {
  train(in_pieces("m1"));
  for (const int ranks : {2, 8}) {
    TrainOptions o = in_pieces(fmt::format("m{}", ranks));
    o.shard_optimizer = true;
    o.report_parameters = true;  // needs whole gradients
    train_by(ranks, o);
    expect_same_weights("m1", fmt::format("m{}", ranks));
  }
}

TEST_F(RanksTraining, AnotherNumberOfRanksResumes) {
  train(in_pieces("whole"));
  TrainOptions o = in_pieces("m");
  int64_t steps = 0;
  for (const int ranks : {4, 1, 8, 2}) {
    o.max_steps = std::min<int64_t>(9, steps += 3);
    o.shard_optimizer = ranks >= 4;
    train_by(ranks, o);
    o.resume = true;
  }
  expect_same_weights("whole", "m");
}

// Matrices of more than a range of parameters: shards end inside of them.
TEST_F(RanksTraining, ShardsDivideLargeMatrices) {
  TrainOptions o = in_pieces("m1", 4);
  o.architecture.transformer().ffn = 5000;
  o.max_steps = 2;
  train(o);
  o.model = folder_ / "m4";
  o.shard_optimizer = true;
  train_by(4, o);
  expect_same("m1", "m4");
}

TEST_F(RanksTraining, OnePieceIsTheSumOfItsBatches) {
  TrainOptions o = in_pieces("one", 1);
  o.eps = 1e-3;  // else Adam makes full steps of gradients that are nothing but rounding
  o.accumulate = 4;
  train(o);
  o.model = folder_ / "four";
  o.pieces = 4;
  train(o);
  EXPECT_LT(distance(parameters("one"), parameters("four")), 1e-4);  // but for the order of sums
}

TEST_F(RanksTraining, ReportsTheSlowestProcess) {
  TrainOptions o = in_pieces("m", 2);
  o.max_steps = 7;
  train_by(2, o);
  const std::string log = bytes("m/training/log.jsonl");
  EXPECT_NE(log.find("\"processes\":2,\"slowest_process\":"), std::string::npos) << log;
  EXPECT_NE(log.find("\"slowest_share\":"), std::string::npos) << log;
}

TEST_F(RanksTraining, AFinishedTrainingEndsAllRanks) {
  TrainOptions o = in_pieces("m", 2);
  train_by(2, o);
  const std::string before = bytes("m/training/state.safetensors");
  o.resume = true;
  train_by(2, o);
  EXPECT_TRUE(bytes("m/training/state.safetensors") == before);
}

// A rank that wants to end, as by a signal, ends all after the same update; the same options resume.
TEST_F(RanksTraining, AnInterruptedTrainingEndsAllRanksAndResumes) {
  train(in_pieces("whole"));
  TrainOptions o = in_pieces("m");
  o.report_every = 4;
  o.on_record = [](const Json&) { return false; };
  run_ranks(4, [&](Communicator& c) {
    const TrainResult result = train(o, c);
    EXPECT_EQ(result.stop_reason, StopReason::interrupted) << c.rank();
    EXPECT_EQ(result.steps, 3) << c.rank();
  });
  o.on_record = {};
  o.resume = true;
  train_by(2, o);
  expect_same_weights("whole", "m");
}

TEST_F(RanksTraining, ARankThatFailsEndsAllWithItsReason) {
  const auto fails_at = [&](int rank) {
    try {
      run_ranks(4, [&](Communicator& c) {
        TrainOptions o = in_pieces(fmt::format("m{}", rank));
        if (c.rank() == rank) o.before_updates = [] { fail("test", "the disk is on fire"); };
        train(o, c);
      });
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("the disk is on fire"), std::string::npos) << e.what();
    }
  };
  fails_at(0);
  fails_at(2);
}

TEST_F(RanksTraining, RefusesWhatCannotBeShared) {
  const auto refused = [&](const TrainOptions& o, const std::string& word) {
    try {
      run_ranks(2, [&](Communicator& c) { train(o, c); });
      ADD_FAILURE() << "no error about " << word;
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  TrainOptions o = options("m");
  refused(o, "the number of processes must divide pieces: there are 2, pieces is 1");
  o.pieces = 2;
  refused(o, "at most accumulate, 1, got 2");
  o.accumulate = 6;
  o.pieces = 6;
  refused(o, "a power of two");
  o.pieces = 2;
  train(o);
  o.resume = true;
  o.pieces = 4;
  refused(o, "'pieces' was 2 and is now 4");
}

TEST_F(RanksTraining, RefusesOtherOptionsAndOtherDataOfARank) {
  const auto refused = [&](const std::string& word, auto change) {
    try {
      run_ranks(2, [&](Communicator& c) {
        TrainOptions o = in_pieces("m", 2);
        if (c.rank() == 1) change(o);
        train(o, c);
      });
      ADD_FAILURE() << "no error about " << word;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  write_small_corpus(folder_ / "other.tsv", 300, 2);
  refused("'seed' was 1 and is now 2", [](TrainOptions& o) { o.seed = 2; });
  refused("process 1 has read other training data",
          [&](TrainOptions& o) { o.train = (folder_ / "other.tsv").string(); });
}

}  // namespace qkv::train_test
