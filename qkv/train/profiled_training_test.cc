// qkv train --profile: what it leaves, and that it changes nothing else.
#include <set>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/train/options.h"
#include "qkv/train/train.h"
#include "qkv/train/training_folder_test.h"

namespace qkv::profiled_training_test {

class ProfiledTraining : public TrainingFolderTest {
 protected:
  TrainOptions profiled(const std::string& model) {
    TrainOptions o = options(model);
    o.profile = (folder_ / "trace.json").string();
    return o;
  }
};

TEST_F(ProfiledTraining, HasTheSameWeightsBitForBit) {
  train(options("plain"));
  train(profiled("profiled"));
  EXPECT_EQ(bytes("plain/model.safetensors"), bytes("profiled/model.safetensors"));
  EXPECT_EQ(log_without_times(folder_ / "plain"), log_without_times(folder_ / "profiled"));
}

TEST_F(ProfiledTraining, TracesFiveUpdatesAndWhatIsAroundThem) {
  TrainOptions o = profiled("model");
  o.valid_every = 5;
  o.save_every = 5;
  train(o);
  std::multiset<std::string> names;
  const Json trace = Json::parse(bytes("trace.json"));
  for (const Json& event : trace.at("traceEvents")) names.insert(event.at("name").text());
  EXPECT_EQ(names.count("step"), 5u);
  EXPECT_EQ(names.count("making of batches"), 5u);
  EXPECT_EQ(names.count("adam"), 5u);
  EXPECT_EQ(names.count("gradient norm"), 5u);
  EXPECT_GE(names.count("validation"), 1u);
  EXPECT_GE(names.count("saving"), 1u);
  EXPECT_EQ(names.count("linear_cross_entropy"), 10u) << "forward and backward, without those of validations";
}

TEST_F(ProfiledTraining, OfFewUpdatesTracesThoseAfterTheWarmup) {
  TrainOptions o = profiled("model");
  o.max_steps = 4;
  train(o);
  EXPECT_EQ(Json::parse(bytes("trace.json")).at("traceEvents")[2].at("name").text(), "step");
}

TEST_F(ProfiledTraining, KeepsAFileWhereNoUpdateIsMeasured) {
  write_file(folder_ / "trace.json", "what was there before");
  TrainOptions o = profiled("model");
  o.max_steps = 2;
  train(o);
  EXPECT_EQ(bytes("trace.json"), "what was there before");
}

TEST_F(ProfiledTraining, IsRefusedBeforeTheFirstUpdateIfTheTraceCannotBeWritten) {
  TrainOptions o = options("model");
  o.profile = (folder_ / "no folder" / "trace.json").string();
  EXPECT_THROW(train(o), InputError);
  EXPECT_FALSE(file_exists(folder_ / "model" / "model.safetensors"));
}

TEST_F(ProfiledTraining, IsOfOneRunAndNotStored) {
  TrainOptions o = profiled("model");
  o.max_steps = 5;
  train(o);
  TrainOptions again = stored_options(folder_ / "model");
  EXPECT_EQ(again.profile, "");
  EXPECT_EQ(bytes("model/training/options.json").find("profile"), std::string::npos);
}

}  // namespace qkv::profiled_training_test
