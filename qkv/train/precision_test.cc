#include "qkv/train/precision.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"
#include "qkv/base/world/one_process.h"
#include "qkv/kernel/kernels.h"
#include "qkv/train/train_test.h"

namespace qkv::precision_test {

TEST(TrainingPrecision, AutomaticIsBf16WhereTheInstructionSetHasItsProducts) {
  OneProcess alone;
  for (const kernel::Kernels* k : kernel::all_kernels()) {
    const kernel::UseKernels use(*k);
    const bool has_products = all_have_bf16_products(alone);
    if (k->isa == "avx512_bf16" || k->isa == "amx") {
      EXPECT_TRUE(has_products) << k->isa;
    } else if (k->isa == "generic" || k->isa == "avx2" || k->isa == "avx512") {
      EXPECT_FALSE(has_products) << k->isa;
    }
    const ResolvedPrecision p = resolve_automatic_precision({}, has_products);
    EXPECT_EQ(p.precision, has_products ? TrainingPrecision::bf16 : TrainingPrecision::f32) << k->isa;
    EXPECT_EQ(p.why, fmt::format("{} has {}products of bf16", k->isa, has_products ? "" : "no ")) << k->isa;
  }
}

TEST(TrainingPrecision, AutomaticIsWhatAResumedTrainingBeganWith) {
  for (const TrainingPrecision begun : {TrainingPrecision::f32, TrainingPrecision::bf16})
    for (const bool has_products : {false, true})
      EXPECT_EQ(resolve_automatic_precision(begun, has_products).precision, begun);
}

TEST(TrainingPrecision, HasItsNamesInOptions) {
  TrainOptions o;
  o.precision = TrainingPrecision::automatic;
  std::string text = to_json(o);
  EXPECT_EQ(train_options_from_json(text, "options.json").precision, TrainingPrecision::automatic);
  text.replace(text.find("\"auto\""), 6, "\"f16\"");
  try {
    train_options_from_json(text, "options.json");
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("'precision' must be one of f32, bf16, auto, got 'f16'"),
              std::string::npos)
        << e.what();
  }
}

TEST(TrainingPrecision, AutomaticIsNotAPrecisionOfProducts) {
  EXPECT_EQ(product_precision(TrainingPrecision::f32), Precision::f32);
  EXPECT_EQ(product_precision(TrainingPrecision::bf16), Precision::bf16);
  EXPECT_THROW(product_precision(TrainingPrecision::automatic), Error);
}

class AutomaticPrecision : public train_test::TrainTest {
 protected:
  TrainOptions automatic(const std::string& model) {
    TrainOptions o = options(model);
    o.precision = TrainingPrecision::automatic;
    return o;
  }
};

// As if the training moved to a processor with another instruction set: generic has no products of bf16.
TEST_F(AutomaticPrecision, IsStoredAndKeptWhereTheTrainingIsResumed) {
  const kernel::Kernels& best = kernel::kernels();
  const bool has_products = best.attention.bf16 != nullptr;
  TrainOptions o = automatic("best");
  o.quiet = false;
  o.max_steps = 2;
  const auto said = [&] {
    testing::internal::CaptureStderr();
    train(o);
    return testing::internal::GetCapturedStderr();
  };
  const std::string name = has_products ? "bf16" : "f32";
  std::string text = said();
  EXPECT_NE(text.find(fmt::format("precision auto: {}, as {} has ", name, best.isa)), std::string::npos) << text;
  EXPECT_EQ(name_of(stored_options(o.model).precision), name);

  const kernel::UseKernels elsewhere(*kernel::all_kernels().front());
  o.resume = true;
  o.max_steps = 4;
  text = said();
  EXPECT_NE(text.find(fmt::format("precision auto: {}, as this training began with it", name)), std::string::npos)
      << text;
  EXPECT_EQ(name_of(stored_options(o.model).precision), name);
  o.precision = has_products ? TrainingPrecision::f32 : TrainingPrecision::bf16;
  o.max_steps = 6;
  EXPECT_THROW(train(o), UsageError);

  o = automatic("generic");
  o.max_steps = 2;
  train(o);
  EXPECT_EQ(stored_options(o.model).precision, TrainingPrecision::f32);
}

TEST_F(AutomaticPrecision, IsTheSameInAllProcesses) {
  TrainOptions o = automatic("automatic");
  o.max_steps = 4;
  o.pieces = o.accumulate = 2;
  run_ranks(2, [&](Communicator& c) { train(o, c); });
  TrainOptions explicit_one = o;
  explicit_one.model = folder_ / "explicit";
  explicit_one.precision = stored_options(o.model).precision;
  train(explicit_one);
  expect_same_weights("automatic", "explicit");
}

}  // namespace qkv::precision_test
