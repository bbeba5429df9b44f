#include "qkv/train/train_test.h"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/published/load_model.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/train/average.h"
#include "qkv/train/folder.h"
#include "qkv/train/trainer.h"
#include "qkv/train/training_test.h"
#include "qkv/train/translation_task.h"

namespace qkv::train_test {

TEST_F(TrainTest, LearnsAndWritesAModelFolder) {
  TrainOptions o = options("m");
  o.max_steps = 60;
  const TrainResult r = train(o);
  EXPECT_EQ(r.stop_reason, StopReason::max_steps);
  EXPECT_EQ(r.steps, 60);
  ASSERT_TRUE(r.validation);
  EXPECT_LT(r.validation->loss, 2.4);  // chance is ln 11 = 2.4 at best
  EXPECT_TRUE(r.validation->bleu);
  for (const char* file : {"config.json", "model.safetensors", "source.model", "target.model", "held-out.tsv",
                           "training/state.safetensors", "training/log.jsonl", "training/options.json",
                           "training/step-000000060.safetensors", "training/step-000000040.safetensors"})
    EXPECT_TRUE(fs::exists(folder_ / "m" / file)) << file;
  EXPECT_FALSE(fs::exists(folder_ / "m/training/step-000000030.safetensors"));  // keep is 3
  EXPECT_EQ(load_model(folder_ / "m").config().source_vocabulary(),
            15);  // 10 digits, the space and 4 special tokens
}

TEST_F(TrainTest, ResumedIsTheSameBitForBit) {
  train(options("whole"));
  train_in_parts(options("parts"));
  expect_same_weights("whole", "parts");
}

TEST_F(TrainTest, ResumedWithBpeDropoutIsTheSameBitForBit) {
  const auto with_dropout = [&](const char* model) {
    TrainOptions o = options(model);
    o.tokenizer = TokenizerType::bpe;
    o.vocabulary_size = 60;
    o.bpe_dropout = 0.2;
    return o;
  };
  train(with_dropout("whole"));
  TrainOptions o = train_in_parts(with_dropout("parts"));
  expect_same_weights("whole", "parts");
  o.model = folder_ / "without";
  o.bpe_dropout = 0;
  train(o);
  EXPECT_GT(distance(parameters("whole"), parameters("without")), 1e-3);
}

TEST_F(TrainTest, ReportsTheNormsOfEveryParameter) {
  TrainOptions o = options("m");
  o.report_parameters = true;
  train(o);
  std::string line;
  std::ifstream(folder_ / "m/training/log.jsonl") >> line;  // there are no spaces in it
  EXPECT_EQ(line.find(R"({"step":7,)"), 0u) << line;
  for (const auto& [name, tensor] : parameters("m"))
    EXPECT_NE(line.find(fmt::format(R"("{}":{{"gradient":)", name)), std::string::npos) << name;
  TrainOptions without = options("without");
  train(without);
  expect_same_weights("m", "without");
}

TEST_F(TrainTest, OneThreadOrTwoIsTheSameBitForBit) {
  const int before = threads();
  TrainOptions o = options("one");
  o.threads = 1;
  train(o);
  o = options("two");
  o.threads = 2;
  train(o);
  set_threads(before);
  expect_same_weights("one", "two");
  EXPECT_EQ(log_without_times(folder_ / "one"), log_without_times(folder_ / "two"));
}

TEST_F(TrainTest, AnotherSeedIsAnotherModel) {
  train(options("a"));
  TrainOptions o = options("b");
  o.seed = 2;
  train(o);
  EXPECT_GT(distance(parameters("a"), parameters("b")), 0.1);
}

TEST_F(TrainTest, SmallBatchesAccumulatedAreALargeOne) {
  TrainOptions o = options("large");
  o.architecture.transformer().dropout = 0;
  o.eps = 1e-3;  // else Adam makes full steps of gradients that are nothing but rounding
  o.batch_sentences = 24;
  o.max_steps = 3;
  o.hold_out = 0;
  train(o);
  // The order of sentences is shuffled and bucketed: only a whole epoch is the same set of pairs.
  write_small_corpus(folder_ / "pairs.tsv", 24, 1);
  o.model = folder_ / "whole";
  train(o);
  o.model = folder_ / "parts";
  o.batch_sentences = 8;
  o.accumulate = 3;
  train(o);
  EXPECT_LT(distance(parameters("whole"), parameters("parts")), 1e-4);
  EXPECT_GT(distance(parameters("whole"), parameters("large")), 1e-3);
}

TEST_F(TrainTest, StopsWhenNothingGetsBetter) {
  TrainOptions o = options("m");
  o.learning_rate = 1e-12;  // nothing changes, so the first validation stays the best
  o.valid_every = 2;
  o.patience = 3;
  o.patience_on = Goal::bleu;
  const TrainResult r = train(o);
  EXPECT_EQ(r.stop_reason, StopReason::patience);
  EXPECT_EQ(r.steps, 8);
  EXPECT_EQ(r.best_step, 2);
}

TEST_F(TrainTest, StopsAfterEpochs) {
  TrainOptions o = options("m");
  o.max_steps = 0;
  o.max_epochs = 2;
  const TrainResult r = train(o);
  EXPECT_EQ(r.stop_reason, StopReason::max_epochs);
  EXPECT_EQ(r.epochs, 2);
}

TEST_F(TrainTest, AverageIsTheMeanOfTheLastCheckpoints) {
  TrainOptions o = options("m");
  o.hold_out = 0;
  o.average = 2;
  train(o);
  const std::vector<fs::path> files = {folder_ / "m/training/step-000000020.safetensors",
                                       folder_ / "m/training/step-000000030.safetensors"};
  EXPECT_EQ(distance(parameters("m"), average_checkpoints(files)), 0.0);
}

TEST_F(TrainTest, WithoutValidationTheLastIsTheModel) {
  TrainOptions o = options("m");
  o.hold_out = 0;
  const TrainResult r = train(o);
  EXPECT_FALSE(r.validation);
  EXPECT_EQ(bytes("m/model.safetensors"), bytes("m/training/step-000000030.safetensors"));
}

TEST_F(TrainTest, ContinuesFromAModelWithItsVocabularies) {
  train(options("first"));
  TrainOptions o = options("second");
  write_small_corpus(folder_ / "other.tsv", 200, 2);
  o.train = (folder_ / "other.tsv").string();
  o.init = folder_ / "first";
  o.learning_rate = 1e-9;
  o.max_steps = 1;
  train(o);
  for (const char* name : {"/source.model", "/target.model"})
    EXPECT_EQ(bytes(std::string("second") + name), bytes(std::string("first") + name));
  EXPECT_LT(distance(parameters("first"), parameters("second")), 1e-6);
}

TEST_F(TrainTest, AsksTheSystemForNoMoreMemoryAfterAWhile) {
  std::string text;
  for (int i = 1000; i < 1064; ++i) text += fmt::format("{}\t{}\n", i, i + 1);  // all of one length
  write_file(folder_ / "pairs.tsv", text);
  TrainOptions o = options("m");
  o.hold_out = 0;
  o.batch_sentences = 16;
  o.save_every = 0;
  o.max_steps = 4;
  const auto resume_to = [&](int64_t steps) {
    o.max_steps = steps;
    TrainingFolder folder(o);
    const Checkpoint checkpoint(folder.state());
    TranslationTask task(o, prepare_translation_data(o));
    Trainer(o, task, folder, {.checkpoint = &checkpoint}).run();
  };
  {
    TrainingFolder folder(o);
    TranslationTask task(o, prepare_translation_data(o));
    Trainer(o, task, folder).run();
  }
  o.resume = true;
  resume_to(12);  // a resumed training has shapes of its own
  const int64_t before = storage_statistics().system_allocations;
  resume_to(60);
  // 48 updates take some ten thousand tensors. A block may still turn up that no free one fits, but not in every
  // update.
  EXPECT_LE(storage_statistics().system_allocations, before + 4);
}

TEST_F(TrainTest, KeepsAModelWhenATrainingCannotStart) {
  TrainOptions o = options("m");
  o.max_steps = 2;
  train(o);
  const std::string model = bytes("m/model.safetensors");
  expect_error(o, "overwrite");
  o.overwrite = true;
  o.train = (folder_ / "missing.tsv").string();
  expect_error(o, "missing.tsv");
  EXPECT_EQ(bytes("m/model.safetensors"), model);
  o.train = (folder_ / "pairs.tsv").string();
  write_file(folder_ / "m" / "notes.txt", "mine");
  train(o);
  EXPECT_EQ(bytes("m/notes.txt"), "mine");
  EXPECT_EQ(bytes("m/model.safetensors"), model);
}

TEST_F(TrainTest, ResumesOnlyWithTheSameOptionsAndData) {
  TrainOptions o = options("m");
  o.max_steps = 2;
  train(o);
  o.resume = true;
  o.label_smoothing = 0.2;
  expect_error(o, "'label-smoothing' was 0.1 and is now 0.2");
  o.label_smoothing = 0.1;
  write_small_corpus(folder_ / "other.tsv", 300, 2);
  o.max_steps = 4;
  o.train = (folder_ / "other.tsv").string();
  expect_error(o, "this is not the data that the training");
  EXPECT_EQ(stored_options(folder_ / "m").max_steps, 2);
  EXPECT_EQ(stored_options(folder_ / "m").label_smoothing, 0.1);  // rejected options are not stored
}

TEST_F(TrainTest, SeveralCorporaAreOneTrainingThatResumesWithAllOfThem) {
  TrainOptions o = options("m");
  write_small_corpus(folder_ / "more.tsv", 150, 2);
  o.train = {(folder_ / "pairs.tsv").string(), (folder_ / "more.tsv").string()};
  TrainOptions joined = options("joined");
  write_file(folder_ / "joined.tsv", bytes("pairs.tsv") + bytes("more.tsv"));
  joined.train = (folder_ / "joined.tsv").string();
  train(joined);
  o.max_steps = 12;
  train(o);

  TrainOptions resumed = stored_options(folder_ / "m");
  EXPECT_EQ(resumed.train, o.train);
  resumed.resume = resumed.quiet = true;
  resumed.max_steps = joined.max_steps;
  for (const CorpusPaths& other : {CorpusPaths{o.train.list[0]}, CorpusPaths{o.train.list[1], o.train.list[0]}}) {
    resumed.train = other;
    expect_error(resumed, "not the data that the training");
  }
  resumed.train = o.train;
  train(resumed);
  EXPECT_EQ(bytes("m/model.safetensors"), bytes("joined/model.safetensors"));
}

TEST_F(TrainTest, BeginsAgainWhereItWasKilledBeforeTheFirstSave) {
  TrainOptions o = options("m");
  {
    TrainingFolder folder(o);
    folder.begin();
    folder.write_options(o);
  }
  o.resume = true;
  o.max_steps = 3;
  EXPECT_EQ(train(o).steps, 3);
}

TEST_F(TrainTest, CleansUpAfterAKill) {
  TrainOptions o = options("m");
  o.max_steps = 20;
  train(o);
  const std::string temporary = fmt::format("m/model.safetensors.{}-0123456789abcdef.tmp",
                                            read_file("/proc/sys/kernel/random/boot_id").substr(0, 8));
  write_file(folder_ / temporary, "half");
  write_file(folder_ / "m/training/step-000000099.safetensors", "from a future that never was");
  std::ofstream(folder_ / "m/training/log.jsonl", std::ios::app) << "{\"step\": 99}\n";
  o.resume = true;
  o.max_steps = 25;
  train(o);
  EXPECT_FALSE(fs::exists(folder_ / temporary));
  EXPECT_FALSE(fs::exists(folder_ / "m/training/step-000000099.safetensors"));
  EXPECT_EQ(bytes("m/training/log.jsonl").find("\"step\": 99"), std::string::npos);
}

TEST_F(TrainTest, RejectsAnInconsistentState) {
  TrainOptions o = options("m");
  o.max_steps = 2;
  train(o);
  o.resume = true;
  o.max_steps = 3;
  const fs::path state = folder_ / "m/training/state.safetensors";
  const std::string good = read_file(state);
  const auto refused = [&](const std::string& bytes) {
    write_file(state, bytes);
    EXPECT_THROW(train(o), InputError);
  };
  const auto refused_with = [&](const std::string& entry, const std::string& from, const std::string& to) {
    write_file(state, good);
    const SafetensorsFile file = SafetensorsFile::load(state);
    NamedTensors tensors;
    for (const std::string& name : file.names()) tensors.emplace_back(name, file.get(name));
    auto metadata = file.metadata();
    const size_t at = metadata.at(entry).find(from);
    ASSERT_NE(at, std::string::npos) << from;
    metadata.at(entry).replace(at, from.size(), to);
    save_safetensors(state, tensors, metadata);
    EXPECT_THROW(train(o), InputError) << to;
  };
  refused("");
  refused(good.substr(0, good.size() / 2));
  refused_with("state", "\"step\":2", "\"step\":-2");
  refused_with("state", "\"batch\":2", "\"batch\":1000");
  refused_with("state", "\"saved\":[2]", "\"saved\":[7]");
  refused_with("state", "\"saved\":[2]", "\"saved\":2");
  refused_with("state", "\"best\":", "\"worst\":");
  refused_with("state", "{", "[");
  refused_with("state", "\"step\":2", "\"step\":" + std::string(100'000, '[') + std::string(100'000, ']'));
  refused_with("options", "{", "[");
  refused_with("format", "2", "9");
  fs::copy_file(folder_ / "m/model.safetensors", state, fs::copy_options::overwrite_existing);
  EXPECT_THROW(train(o), InputError);  // a model is not a training state
  write_file(state, good);
  EXPECT_NO_THROW(train(o));
}

TEST_F(TrainTest, ReportsWhereTheLossIsNotFinite) {
  TrainOptions o = options("m");
  o.schedule = ScheduleKind::constant;
  o.warmup = 0;
  o.clip = 0;
  o.learning_rate = 1e30;
  expect_error(o, "learning-rate");
}

// Targets that have nothing to do with their sources: nothing to learn from them.
TEST_F(TrainTest, WarnsOnceOfAModelThatDoesNotReadItsSource) {
  Random random(1);
  std::string text;
  for (int i = 0; i < 300; ++i) text += fmt::format("{}\t{}\n", 1000 + i, 1000 + random.below(9000));
  write_file(folder_ / "pairs.tsv", text);
  TrainOptions o = options("m");
  o.batch_tokens = 100;
  o.valid_every = 100;
  o.valid_sentences = 0;
  o.max_steps = 500;
  train(o);
  const auto warnings = [&] {
    int64_t count = 0;
    for (const std::string& line : log_without_times(folder_ / "m"))
      count += line.find(R"("step":500,"warning":"source-unused")") != std::string::npos;
    return count;
  };
  EXPECT_EQ(warnings(), 1);
  EXPECT_NE(bytes("m/training/log.jsonl").find("\"cross_attention_entropy\":["), std::string::npos);
  o.resume = true;
  o.max_steps = 700;
  train(o);
  EXPECT_EQ(warnings(), 1);
  EXPECT_EQ(bytes("m/training/log.jsonl").find(R"("step":600,"warning")"), std::string::npos);
}

TEST_F(TrainTest, NamesAFolderItCannotWrite) {
  write_file(folder_ / "file", "");
  TrainOptions o = options("file/m");
  expect_error(o, "file/m");
}

// A limit on the size of files simulates a full disk.
TEST_F(TrainTest, AFullDiskCostsNothingThatWasSaved) {
  TrainOptions o = options("m");
  o.max_steps = 10;
  train(o);
  const std::string state = bytes("m/training/state.safetensors"), model = bytes("m/model.safetensors");
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 20'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  o.resume = true;
  o.max_steps = 20;
  expect_error(o, "safetensors: File too large");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(bytes("m/training/state.safetensors"), state);
  EXPECT_EQ(bytes("m/model.safetensors"), model);
  EXPECT_EQ(train(o).steps, 20);
}

TEST_F(TrainTest, OneTrainingAtATime) {
  const TrainOptions o = options("m");
  TrainingFolder first(o);
  first.begin();
  EXPECT_THROW(TrainingFolder second(o), InputError);
}

}  // namespace qkv::train_test
