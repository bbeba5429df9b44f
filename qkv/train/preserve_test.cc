// A training loses nothing: the files in its folder keep their bytes until a complete replacement is there.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/load_model.h"
#include "qkv/train/average.h"
#include "qkv/train/folder.h"
#include "qkv/train/publish.h"
#include "qkv/train/trainer.h"
#include "qkv/train/training_test.h"
#include "qkv/train/translation_task.h"

namespace qkv::preserve_test {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

class Preserve : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / fmt::format("preserve.{}.{}", info->name(), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_small_corpus(folder_ / "pairs.tsv", 300, 1);
    write_small_corpus(folder_ / "other.tsv", 300, 2);
  }
  void TearDown() override { fs::remove_all(folder_); }

  TrainOptions options(const std::string& model) {
    TrainOptions o = small_training(folder_ / "pairs.tsv", folder_ / model);
    o.max_steps = 10;
    return o;
  }
  // Another model in every respect: shape, vocabularies, no pairs held out, other checkpoints.
  TrainOptions other(const std::string& model) {
    TrainOptions o = options(model);
    o.train = (folder_ / "other.tsv").string();
    o.architecture.transformer().d_model = 24;
    o.vocabulary_size = 9;
    o.hold_out = 0;
    o.save_every = 7;
    o.overwrite = true;
    return o;
  }
  Files files(const std::string& model) const {
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / model))
      if (entry.is_regular_file() && entry.path().filename() != "lock")
        files[fs::relative(entry.path(), folder_ / model).string()] = read_file(entry.path());
    return files;
  }
  std::string error_of(const TrainOptions& o) {
    try {
      train(o);
      return "no error";
    } catch (const Error& e) {
      return e.what();
    }
  }
  fs::path folder_;
};

TEST_F(Preserve, AnInterruptedOverwriteLeavesTheModelAndIsResumed) {
  train(options("m"));
  write_file(folder_ / "m/README", "mine");
  const Files before = files("m");
  TrainOptions o = other("m");
  o.save_every = 0;
  std::thread sender([&] {
    const fs::path log =
        folder_ / "m/training/next-1/training/log.jsonl";  // its first line comes after the handlers
    std::error_code error;
    while (!fs::exists(log) || fs::file_size(log, error) == 0) ::usleep(500);
    ::usleep(2000);
    ::kill(::getpid(), SIGHUP);
  });
  o.max_steps = 1'000'000;
  const TrainResult r = train(o);
  sender.join();
  EXPECT_EQ(r.stop_reason, StopReason::interrupted);
  EXPECT_EQ(r.signal, SIGHUP);
  Files after = files("m");
  for (const auto& [name, bytes] : before) EXPECT_TRUE(after[name] == bytes) << name;
  EXPECT_EQ(load_model(folder_ / "m").config().d_model(), 16);

  o = stored_options(folder_ / "m");
  EXPECT_EQ(o.architecture.d_model(), 24) << "the options are those of the training to resume";
  o.quiet = o.resume = true;
  o.max_steps = r.steps + 2;
  EXPECT_EQ(train(o).steps, r.steps + 2);
  EXPECT_EQ(load_model(folder_ / "m").config().d_model(), 24);
  EXPECT_EQ(Translator(folder_ / "m").source().size(), 9);
  after = files("m");
  EXPECT_EQ(after["README"], "mine");
  EXPECT_EQ(after.count("held-out.tsv"), 0u) << "of the training before";
  // The new training may have stopped so that it has a checkpoint of the same name.
  const std::string checkpoint = "training/step-000000010.safetensors";
  EXPECT_NE(after[checkpoint], before.at(checkpoint)) << "of the training before";
  EXPECT_FALSE(fs::exists(folder_ / "m/training/next-1"));
}

TEST_F(Preserve, AnOverwriteThatFailsBeforeItsFirstSaveLeavesNothing) {
  train(options("m"));
  const Files before = files("m");
  TrainOptions o = other("m");
  o.schedule = ScheduleKind::constant;
  o.warmup = 0, o.clip = 0, o.learning_rate = 1e30;
  EXPECT_NE(error_of(o).find("learning-rate"), std::string::npos);
  EXPECT_TRUE(files("m") == before);
}

// A limit on the size of a file simulates a full disk: at the options, a vocabulary, the log, the state,
// the model.
TEST_F(Preserve, AFullDiskAtAnyFileOfAnOverwriteCostsNothing) {
  train(options("m"));
  const Files before = files("m");
  struct rlimit unlimited = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  TrainOptions o = other("m");
  o.vocabulary_size = 32;
  int failed = 0;
  for (const int bytes : {0, 1000, 5000, 30'000, 60'000, 100'000, 1'000'000}) {
    struct rlimit limit = unlimited;
    limit.rlim_cur = static_cast<rlim_t>(bytes);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const std::string error = error_of(o);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    if (error == "no error") break;
    EXPECT_NE(error.find("File too large"), std::string::npos) << error;
    EXPECT_TRUE(files("m") == before) << bytes << ": " << error;
    ++failed;
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_GE(failed, 4);
  EXPECT_EQ(load_model(folder_ / "m").config().d_model(), 24) << "there was room at last";
}

TEST_F(Preserve, AnOverwriteOfAnInterruptedOneKeepsBothUntilItsFirstSave) {
  train(options("m"));
  const fs::path staged = folder_ / "m/training/next-1";
  train(options("n"));
  fs::rename(folder_ / "n", staged);  // as if it had been interrupted there
  fs::remove(staged / "model.safetensors");
  const Files before = files("m");
  TrainOptions o = other("m");
  o.learning_rate = 1e30, o.clip = 0, o.schedule = ScheduleKind::constant, o.warmup = 0;
  EXPECT_NE(error_of(o), "no error");
  EXPECT_TRUE(files("m") == before);
  train(other("m"));
  EXPECT_FALSE(fs::exists(staged));
  EXPECT_EQ(load_model(folder_ / "m").config().d_model(), 24);
}

// A publication that stops at the n-th file: readers see the complete new model, and the next training resumes it.
TEST_F(Preserve, AnUnfinishedPublicationIsCompleteForReadersAndIsFinishedLater) {
  train(options("old"));
  TrainOptions o = other("new");
  o.overwrite = false;
  train(o);
  fs::remove(folder_ / "new/training/lock");
  const std::vector<std::string> sentence = {"123"};
  const std::string text = Translator(folder_ / "new").translate(sentence)[0].text;
  const Files expected = files("new");
  for (const char* name : training_files) {
    const fs::path m = folder_ / "m", committed = m / "training/committed";
    fs::remove_all(m);
    fs::copy(folder_ / "old", m, fs::copy_options::recursive);
    fs::copy(folder_ / "new", committed, fs::copy_options::recursive);
    if (!expected.contains(name)) continue;
    fs::remove(m / name);
    fs::create_directories(m / name / "in the way");  // no file can be renamed to this
    EXPECT_THROW(place_committed(m), FileError) << name;
    EXPECT_TRUE(Translator(m).translate(sentence)[0].text == text) << name;
    EXPECT_EQ(stored_options(m).architecture.d_model(), 24) << name;
    fs::remove_all(m / name);
    o = stored_options(m);
    o.resume = o.quiet = true;
    EXPECT_EQ(train(o).steps, 10) << "finished already: nothing but the moves is left to do";
    EXPECT_TRUE(files("m") == expected) << name;
    EXPECT_FALSE(fs::exists(committed));
  }
}

TEST_F(Preserve, AReaderNeverSeesAMixture) {
  train(options("m"));
  std::atomic<bool> done = false;
  std::atomic<int> read = 0;
  std::thread reader([&] {
    while (!done) {
      try {
        const Translator t(folder_ / "m");
        EXPECT_EQ(t.model().config().d_model() == 16, t.source().size() == 15);
        ++read;
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
  });
  for (int round = 0; round < 10; ++round) {
    TrainOptions o = round % 2 ? options("m") : other("m");
    o.overwrite = true;
    o.max_steps = 1;
    train(o);
  }
  done = true;
  reader.join();
  EXPECT_GT(read, 0);
}

TEST_F(Preserve, AModelWithoutAStateIsNotReplacedByResume) {
  train(options("m"));
  fs::remove(folder_ / "m/training/state.safetensors");
  const Files before = files("m");
  TrainOptions o = options("m");
  o.resume = true;
  EXPECT_NE(error_of(o).find("no state to resume its training from (training/state.safetensors)"),
            std::string::npos)
      << error_of(o);
  EXPECT_TRUE(files("m") == before);
}

TEST_F(Preserve, AForeignFileIsNotReplacedByDefault) {
  fs::create_directories(folder_ / "m");
  write_file(folder_ / "m/config.json", "{\"mine\": 1}");
  for (const bool resume : {false, true}) {
    TrainOptions o = options("m");
    o.resume = resume;
    EXPECT_NE(error_of(o).find("m/config.json exists already"), std::string::npos);
  }
  EXPECT_EQ(files("m").size(), 1u);
  TrainOptions o = options("m");
  o.overwrite = true;
  train(o);
  EXPECT_EQ(load_model(folder_ / "m").config().d_model(), 16);
}

TEST_F(Preserve, ARefusedResumeWritesNothing) {
  train(options("m"));
  const Files before = files("m");
  const auto refused = [&](auto change, const std::string& message) {
    TrainOptions o = options("m");
    o.resume = true;
    o.max_steps = 12;
    change(o);
    EXPECT_NE(error_of(o).find(message), std::string::npos) << error_of(o);
    EXPECT_TRUE(files("m") == before) << message;
  };
  refused([&](TrainOptions& o) { o.train = (folder_ / "other.tsv").string(); },
          "this is not the data that the training");
  refused([&](TrainOptions& o) { o.train = (folder_ / "none.tsv").string(); }, "none.tsv");
  refused([&](TrainOptions& o) { o.hold_out = 30; }, "'hold-out' was 20 and is now 30");
  refused([&](TrainOptions& o) { o.architecture.transformer().ffn = 64; }, "'ffn' was 32 and is now 64");
  refused([&](TrainOptions& o) { o.architecture.transformer().norm_order = NormOrder::post; },
          "'norm' was \"pre\" and is now \"post\"");
  refused([&](TrainOptions& o) { o.overwrite = true; }, "exclude each other");
  refused([&](TrainOptions& o) { o.max_steps = 0; }, "never end");
}

TEST_F(Preserve, AFinishedTrainingThatIsResumedChangesNothing) {
  for (const int64_t average : {0, 2}) {
    const std::string m = fmt::format("m{}", average);
    TrainOptions o = options(m);
    o.save_every = 5;
    o.average = average;
    const TrainResult first = train(o);
    const Files before = files(m);
    o.resume = true;
    const TrainResult again = train(o);
    EXPECT_EQ(again.stop_reason, StopReason::max_steps);
    EXPECT_EQ(again.steps, 10);
    EXPECT_EQ(again.loss, first.loss);
    EXPECT_EQ(again.validation->loss, first.validation->loss);
    EXPECT_TRUE(files(m) == before) << average;
    fs::remove(folder_ / m / "held-out.tsv");
    o.max_steps = 11;
    EXPECT_EQ(train(o).steps, 11);
    EXPECT_TRUE(files(m)["held-out.tsv"] == before.at("held-out.tsv")) << "it was deleted, and is written anew";
  }
}

TEST_F(Preserve, EveryFileIsCheckedWhenItIsRead) {
  TrainOptions o = options("m");
  o.architecture.transformer().d_model = 8;
  o.architecture.transformer().ffn = 8;
  o.save_every = 5;
  o.average = 2;
  train(o);
  o.resume = true;
  o.max_steps = 11;
  const std::vector<std::string> sentence = {"123"};
  const fs::path step = folder_ / "m/training/step-000000010.safetensors";
  const std::map<std::string, std::function<void()>> readers = {
      {"model.safetensors", [&] { Translator(folder_ / "m").translate(sentence); }},
      {"config.json", [&] { Translator(folder_ / "m").translate(sentence); }},
      {"source.model", [&] { Translator(folder_ / "m").translate(sentence); }},
      {"target.model", [&] { Translator(folder_ / "m").translate(sentence); }},
      {"held-out.tsv", [&] { train(o); }},
      {"training/options.json", [&] { stored_options(folder_ / "m"); }},
      {"training/state.safetensors", [&] { train(o); }},
      {"training/step-000000010.safetensors", [&] { average_checkpoints(std::span(&step, 1)); }},
  };
  const Files before = files("m");
  int64_t tried = 0;
  for (const auto& [name, read] : readers) {
    const std::string& good = before.at(name);
    const size_t bits = 8 * good.size(), every = std::max<size_t>(1, bits / 160) | 1;
    for (size_t bit = 0; bit < bits; bit += every) {
      std::string bytes = good;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      fs::remove(folder_ / "m" / name);
      std::ofstream(folder_ / "m" / name, std::ios::binary) << bytes;
      try {
        read();
        ADD_FAILURE() << name << ": bit " << bit << " of " << bits << " is wrong and is not detected";
        break;
      } catch (const InputError& e) {
        ASSERT_NE(std::string(e.what()).find(fs::path(name).filename().string()), std::string::npos) << e.what();
      }
      ++tried;
    }
    std::ofstream(folder_ / "m" / name, std::ios::binary) << good;
    ASSERT_TRUE(files("m") == before) << name;
  }
  EXPECT_GT(tried, 1000);
  std::ofstream(folder_ / "m/training/log.jsonl", std::ios::binary)
      << std::string(before.at("training/log.jsonl").size(), '\xff');
  EXPECT_EQ(train(o).steps, 11) << "the log has no reader";
}

TEST_F(Preserve, WeightsThatAreNotFiniteAreNotSaved) {
  TrainOptions o = options("m");
  train(o);
  const Files before = files("m");
  o.resume = true;  // no update is left, so no loss will tell
  TranslationTask task(o, prepare_translation_data(o));
  TrainingFolder folder(o);
  const Checkpoint checkpoint(folder.state());
  Trainer trainer(o, task, folder, {.checkpoint = &checkpoint});
  task.model().visit([](const std::string& name, Variable& parameter) {
    if (name.ends_with("feed_forward.down.bias"))
      parameter.mutable_value().fill(std::numeric_limits<float>::quiet_NaN());
  });
  try {
    trainer.run();
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("down.bias is not finite"), std::string::npos) << e.what();
  }
  Files after = files("m");
  after["training/log.jsonl"] = before.at("training/log.jsonl");
  EXPECT_TRUE(after == before);
}

}  // namespace qkv::preserve_test
