#include "qkv/train/update.h"

#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "qkv/base/run_ranks.h"
#include "qkv/train/train_test.h"
#include "qkv/train/translation_task.h"

namespace qkv::train_test {

class UpdateTest : public TrainTest {};

// A task whose batches of these numbers have no tokens, as masked text may.
class WithEmptyBatches final : public TrainingTask {
 public:
  WithEmptyBatches(const TrainOptions& options, std::set<int64_t> empty)
      : task_(options, prepare_translation_data(options)), empty_(std::move(empty)) {}

  Model& model() override { return task_.model(); }
  CrossEntropy next_loss(const TrainingLoss& options, Pass& pass) override {
    const bool is_empty = empty_.contains(position().batch);
    CrossEntropy loss = task_.next_loss(options, pass);
    if (is_empty) loss.count = 0;
    return loss;
  }
  BatchPosition position() const override { return task_.position(); }
  void seek(BatchPosition position) override { task_.seek(position); }
  int64_t batches_in_epoch() override { return task_.batches_in_epoch(); }
  bool validates() const override { return false; }
  Validation validate() const override { return {}; }
  std::vector<Sample> samples(int64_t) const override { return {}; }
  uint64_t fingerprint() const override { return 0; }
  VocabularyChecksums vocabulary() const override { return {}; }
  double frequency_loss() const override { return 0; }
  std::vector<std::string> notes() const override { return {}; }
  std::vector<TrainingWarning> data_warnings() const override { return {}; }
  void save_vocabulary(const std::filesystem::path&) const override {}
  HeldOut held_out() const override { return {}; }

 private:
  TranslationTask task_;
  std::set<int64_t> empty_;
};

// The parameters and the tokens after three updates of four batches.
struct Outcome {
  NamedTensors parameters;
  int64_t tokens = 0;
  BatchPosition position;
};

Outcome outcome_of(const TrainOptions& options, const std::set<int64_t>& empty, int ranks, bool shard,
                   GradientFormat communication = GradientFormat::f32) {
  Outcome outcome;
  run_ranks(ranks, [&](Communicator& c) {
    WithEmptyBatches task(options, empty);
    Update update(task,
                  {.accumulate = 4,
                   .pieces = 4,
                   .shard_optimizer = shard,
                   .communication = communication,
                   .clip = 0.1,
                   .seed = 1},
                  c);
    update.begin(0, {});
    int64_t tokens = 0;
    for (int64_t n = 0; n < 3; ++n) {
      const UpdateSums sums = update.sum_gradients(n);
      update.step(1e-2, sums);
      tokens += sums.tokens;
      EXPECT_EQ(std::ssize(sums.seconds), ranks);
      for (const double seconds : sums.seconds) EXPECT_GT(seconds, 0);
    }
    if (c.rank() > 0) return;
    outcome.tokens = tokens;
    outcome.position = task.position();
    for (const auto& [name, tensor] : parameters_of(task.model()))
      outcome.parameters.emplace_back(name, tensor.clone());
  });
  return outcome;
}

TEST_F(UpdateTest, PiecesWithoutTokensAreTheSameBitForBit) {
  TrainOptions o = options("m");
  o.batch_tokens = 40;
  // One piece of the first update; all of the second, which takes two batches more; none of the third.
  const std::set<int64_t> empty = {1, 4, 5, 6, 7, 8};
  const Outcome one = outcome_of(o, empty, 1, false);
  EXPECT_EQ(one.position.batch, 4 + 6 + 4);
  for (const auto& [ranks, shard] : std::vector<std::pair<int, bool>>{{2, false}, {4, false}, {4, true}}) {
    const Outcome several = outcome_of(o, empty, ranks, shard);
    EXPECT_EQ(several.tokens, one.tokens);
    EXPECT_EQ(several.position, one.position);
    for (size_t i = 0; i < one.parameters.size(); ++i)
      EXPECT_TRUE(test::same_bits(several.parameters[i].second, one.parameters[i].second))
          << one.parameters[i].first;
  }
}

TEST_F(UpdateTest, Bf16CommunicationIsTheSameBitForBit) {
  TrainOptions o = options("m");
  o.batch_tokens = 40;
  const Outcome exact = outcome_of(o, {}, 1, false), one = outcome_of(o, {}, 1, false, GradientFormat::bf16);
  double largest = 0;
  for (size_t i = 0; i < one.parameters.size(); ++i)
    largest = std::max(largest, test::largest_difference(one.parameters[i].second, exact.parameters[i].second));
  EXPECT_GT(largest, 0);
  EXPECT_LT(largest, 0.03);  // of three steps of Adam of 0.01
  for (const auto& [ranks, shard] :
       std::vector<std::pair<int, bool>>{{2, false}, {4, false}, {2, true}, {4, true}}) {
    const Outcome several = outcome_of(o, {}, ranks, shard, GradientFormat::bf16);
    for (size_t i = 0; i < one.parameters.size(); ++i)
      EXPECT_TRUE(test::same_bits(several.parameters[i].second, one.parameters[i].second))
          << one.parameters[i].first;
  }
}

// Each rank sends its part of the gradients to the others, and what it has summed: 2 4 P (N - 1) / N bytes.
// In bf16 half of it; with shard_optimizer it is parameters that are gathered, in f32.
TEST_F(UpdateTest, SendsEachGradientTwice) {
  const TrainOptions o = options("m");
  for (const auto& [shard, communication, bytes] :
       std::vector<std::tuple<bool, GradientFormat, double>>{{false, GradientFormat::f32, 8},
                                                             {true, GradientFormat::f32, 8},
                                                             {false, GradientFormat::bf16, 4},
                                                             {true, GradientFormat::bf16, 6}})
    run_ranks(4, [&, bytes = bytes, shard = shard, communication = communication](Communicator& c) {
      WithEmptyBatches task(o, {});
      Update update(task, {.accumulate = 4, .pieces = 4, .shard_optimizer = shard, .communication = communication},
                    c);
      update.begin(0, {});
      const int64_t before = c.bytes_sent();
      update.step(1e-2, update.sum_gradients(0));
      std::vector<int64_t> sent = all_gather_number(c, c.bytes_sent() - before);
      const double all = static_cast<double>(sent[0] + sent[1] + sent[2] + sent[3]);
      const auto P = static_cast<double>(task.model().parameter_count());
      EXPECT_NEAR(all, 4 * (bytes * P * 3 / 4), 10'000) << P;  // and a few small messages
    });
}

}  // namespace qkv::train_test
