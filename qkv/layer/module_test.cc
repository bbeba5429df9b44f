#include "qkv/layer/module.h"

#include <thread>

#include <gtest/gtest.h>

#include "qkv/layer/initialise.h"
#include "qkv/layer/linear.h"
#include "qkv/layer/norm.h"
#include "qkv/layer/parameter_groups.h"

namespace qkv::module_test {

// Two layers with a norm after each, and a table that both ends share.
class Stack final : public Module {
 public:
  explicit Stack(int64_t width = 4) : table({Axis(10, "V"), Axis(width, "C")}, normal(0.5)), output(table) {
    for (int i = 0; i < 2; ++i) layers.emplace_back(width);
  }
  void list(ModuleContents& contents) const override {
    contents.parameter("table", table);
    if (!(output == table)) contents.parameter("output", output);
    contents.parameter("bias", none);
    for (size_t i = 0; i < layers.size(); ++i) contents.child("layers." + std::to_string(i), layers[i]);
  }

  struct Layer final : Module {
    explicit Layer(int64_t width) : feed_forward(width), norm({width, "C"}) {}
    void list(ModuleContents& contents) const override {
      contents.child("feed_forward", feed_forward);
      contents.child("norm", norm);
    }
    struct Both final : Module {
      explicit Both(int64_t width) : up({width, "C"}, {3, "F"}), down({3, "F"}, {width, "C"}, false) {}
      void list(ModuleContents& contents) const override {
        contents.child("up", up);
        contents.child("down", down);
      }
      Linear up, down;
    } feed_forward;
    Norm norm;
  };
  Parameter table, output, none;
  std::vector<Layer> layers;
};

TEST(Module, NamesParametersByTheirPlace) {
  std::vector<std::string> names;
  Stack().visit("model", [&](const std::string& name, Variable&) { names.push_back(name); });
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "model.table", "model.layers.0.feed_forward.up.weight", "model.layers.0.feed_forward.up.bias",
          "model.layers.0.feed_forward.down.weight", "model.layers.0.norm.weight", "model.layers.0.norm.bias",
          "model.layers.1.feed_forward.up.weight", "model.layers.1.feed_forward.up.bias",
          "model.layers.1.feed_forward.down.weight", "model.layers.1.norm.weight", "model.layers.1.norm.bias"}));
}

TEST(Module, CountsWithoutMemory) {
  const int64_t C = int64_t{1} << 40;
  EXPECT_EQ(Stack(C).parameter_count(), 10 * C + 2 * (6 * C + 3 + 2 * C));
  EXPECT_EQ(parameter_groups(Stack(C)).size(), 3u);
}

TEST(Module, GroupsParametersByLayer) {
  const std::vector<ParameterGroup> groups = parameter_groups(Stack());
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].name, "table");
  EXPECT_EQ(groups[0].formula, "C V");
  EXPECT_EQ(groups[0].shapes, "(10, 4)");
  EXPECT_EQ(groups[1].name, "layers.*.feed_forward");
  EXPECT_EQ(groups[1].formula, "2 C F + F");
  EXPECT_EQ(groups[1].shapes, "up (3, 4) + (3), down (4, 3)");
  EXPECT_EQ(groups[1].parameters, 27);
  EXPECT_EQ(groups[1].times, 2);
  EXPECT_EQ(groups[2].formula, "2 C");
  EXPECT_EQ(groups[2].shapes, "weight, bias (4)");
}

TEST(Module, InitialisesEveryParameterByItsRule) {
  Stack a, b;
  a.layers[1].norm.weight.mutable_value().fill(7);
  a.layers[1].norm.bias.mutable_value().fill(7);
  a.initialise("", 3);
  b.initialise("", 3);
  EXPECT_EQ(a.layers[1].norm.weight.value().at<float>({0}), 1.0f);
  EXPECT_EQ(a.layers[1].norm.bias.value().at<float>({0}), 0.0f);
  EXPECT_NE(a.table.value().at<float>({0, 0}), 0.0f);
  EXPECT_EQ(a.table.value().at<float>({3, 2}), b.table.value().at<float>({3, 2}));
  EXPECT_NE(a.layers[0].feed_forward.up.weight.value().at<float>({0, 0}),
            a.layers[1].feed_forward.up.weight.value().at<float>({0, 0}));
}

TEST(Parameter, CopiesAreTheSame) {
  Parameter a({Axis(3)}), b = a;
  b.mutable_value().fill(2);
  EXPECT_EQ(a.value().at<float>({1}), 2.0f);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == Parameter({Axis(3)}));
  EXPECT_FALSE(static_cast<const Variable&>(Parameter()).defined());
}

TEST(Parameter, IsAllocatedOnceByManyThreads) {
  for (int round = 0; round < 50; ++round) {
    const Parameter parameter({Axis(64)});
    std::vector<const float*> seen(4);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < seen.size(); ++i)
      threads.emplace_back([&, i] { seen[i] = parameter.value().span<float>().data(); });
    for (std::thread& thread : threads) thread.join();
    for (const float* data : seen) EXPECT_EQ(data, seen[0]);
  }
}

TEST(ProductFormula, HasPowersInAlphabeticalOrder) {
  EXPECT_EQ(product_formula({{4, "F"}, {3, "C"}}), "C F");
  EXPECT_EQ(product_formula({{4, "C"}, {4, "C"}, {2, "A"}}), "A C^2");
  EXPECT_EQ(product_formula({Axis(1)}), "1");
}

}  // namespace qkv::module_test
