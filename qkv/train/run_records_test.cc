// The files of a training beside log.jsonl: metrics.csv and the event file of TensorBoard.
#include <algorithm>

#include "qkv/train/event_file_test.h"
#include "qkv/train/training_folder_test.h"

namespace qkv::run_records_test {

class RunRecordsTest : public TrainingFolderTest {
 protected:
  std::vector<std::string> rows(const std::string& model) {
    std::ifstream file(folder_ / model / "training" / "metrics.csv");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  static std::string first_cells(const std::string& row) {  // without those that depend on time
    size_t end = 0;
    for (int i = 0; i < 5; ++i) end = row.find(',', end + 1);
    return row.substr(0, end);
  }
  std::vector<ReadEvent> events(const std::string& model) {
    return read_events(bytes(model + "/training/events.out.tfevents.qkv"));
  }
};

TEST_F(RunRecordsTest, TheTableHasARowForEachReportAndValidation) {
  train(options("m"));
  const std::vector<std::string> table = rows("m");
  EXPECT_EQ(table[0],
            "step,epoch,loss,learning_rate,grad_norm,tokens_per_s,seconds,valid_loss,valid_perplexity,valid_bleu,"
            "valid_accuracy");
  EXPECT_EQ(table.size(), 1 + log("m", "loss").size() + log("m", "valid_loss").size());
  for (const std::string& row : table) EXPECT_EQ(std::count(row.begin(), row.end(), ','), 10) << row;
  EXPECT_TRUE(table[1].starts_with("7,1," + log("m", "loss")[0]["loss"].dump() + ",")) << table[1];
}

TEST_F(RunRecordsTest, TensorBoardGetsTheSameNumbersOnRequest) {
  TrainOptions o = options("m");
  o.tensorboard = true;
  train(o);
  std::map<int64_t, float> loss, bleu;
  for (const ReadEvent& event : events("m")) {
    if (event.scalars.contains("train/loss")) loss[event.step] = event.scalars.at("train/loss");
    if (event.scalars.contains("valid/bleu")) bleu[event.step] = event.scalars.at("valid/bleu");
  }
  std::map<int64_t, float> expected_loss, expected_bleu;
  for (const Json& line : log("m", "loss")) expected_loss[line["step"].get<int64_t>()] = line["loss"].get<float>();
  for (const Json& line : log("m", "valid_bleu"))
    expected_bleu[line["step"].get<int64_t>()] = line["valid_bleu"].get<float>();
  EXPECT_EQ(loss, expected_loss);
  EXPECT_EQ(bleu, expected_bleu);
  train(options("without"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "without/training/events.out.tfevents.qkv"));
}

TEST_F(RunRecordsTest, AResumedTrainingContinuesAllFilesWhereItsStateWas) {
  const auto with_events = [&](const char* model) {
    TrainOptions o = options(model);
    o.tensorboard = true;
    o.valid_every = 0;
    return o;
  };
  train(with_events("whole"));
  TrainOptions o = with_events("parts");
  o.max_steps = 14;
  train(o);
  // Killed after more updates, which it had recorded and not saved.
  std::ofstream(folder_ / "parts/training/metrics.csv", std::ios::app) << "99,lost\n";
  std::ofstream(folder_ / "parts/training/events.out.tfevents.qkv", std::ios::app) << "half a record";
  o = with_events("parts");
  o.resume = true;
  train(o);
  std::vector<std::string> whole = rows("whole"), parts = rows("parts");
  // The part validated at its end: a row without a loss.
  std::erase_if(parts, [](const std::string& row) { return row.starts_with("14,") && row.find(",,") < 8; });
  ASSERT_EQ(whole.size(), parts.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(first_cells(whole[i]), first_cells(parts[i]));
  std::vector<int64_t> steps;
  for (const ReadEvent& event : events("parts"))
    if (event.scalars.contains("train/loss")) steps.push_back(event.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{7, 14, 21, 28, 30}));
}

TEST_F(RunRecordsTest, ACallerSeesEveryRecordAndMayStopTheTraining) {
  TrainOptions o = options("m");
  std::vector<std::string> seen;
  o.on_record = [&](const Json& record) {
    seen.push_back(record.dump());
    return record["step"].get<int64_t>() < 10;
  };
  const TrainResult r = train(o);
  EXPECT_EQ(r.stop_reason, StopReason::interrupted);
  EXPECT_EQ(r.signal, 0);
  EXPECT_EQ(r.steps, 10);
  std::vector<std::string> logged;
  for (const Json& line : log("m")) logged.push_back(line.dump());
  EXPECT_EQ(seen, logged);
  o.on_record = {};
  o.resume = true;
  EXPECT_EQ(train(o).steps, 30);
  train(options("whole"));
  EXPECT_EQ(bytes("m/model.safetensors"), bytes("whole/model.safetensors"));
}

}  // namespace qkv::run_records_test
