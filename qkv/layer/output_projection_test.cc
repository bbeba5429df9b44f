#include "qkv/layer/output_projection.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/sort_unique.h"
#include "qkv/layer/layer_test.h"
#include "qkv/op/shape.h"

namespace qkv::output_projection_test {

using namespace test;

Parameter matrix() {
  Parameter weight({5, 3});
  weight.mutable_value().copy_from(random_tensor({5, 3}, 1));
  return weight;
}

TEST(OutputProjection, MultipliesByItsMatrixScalesShiftsAndCaps) {
  for (const OutputProjectionOptions& o :
       {OutputProjectionOptions{}, {.bias = true, .scale = 0.5f}, {.bias = true, .softcap = 2.0f}}) {
    OutputProjection output(matrix(), o);
    randomise(output, 1);
    const Tensor hidden = random_tensor({2, 4, 3}, 2), y = output.logits(hidden).value();
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t t = 0; t < 4; ++t)
        for (int64_t v = 0; v < 5; ++v) {
          double logit = o.bias ? output.bias.value().at<float>({v}) : 0.0f;
          for (int64_t c = 0; c < 3; ++c)
            logit += o.scale * hidden.at<float>({b, t, c}) * output.weight.value().at<float>({v, c});
          if (o.softcap != 0) logit = o.softcap * std::tanh(logit / o.softcap);
          EXPECT_NEAR(y.at<float>({b, t, v}), logit, 1e-6);
        }
  }
}

TEST(OutputProjection, LogitsInBlocksAreThoseOfTheWholeBitForBit) {
  for (const OutputProjectionOptions& o :
       {OutputProjectionOptions{.bias = true}, {.width = 7, .scale = 0.5f}, {.bias = true, .softcap = 2.0f}}) {
    Parameter weight = Parameter::matrix(1100, 3);
    weight.mutable_value().copy_from(random_tensor({1100, 3}, 1));
    OutputProjection output(weight, o);
    randomise(output, 1);
    const Tensor hidden = random_tensor({70, o.width == 0 ? 3 : o.width}, 2);
    Tensor logits = Tensor::full({70, 1100}, std::nanf(""));
    output.logits_in_blocks(hidden, 2, [&](const kernel::ProductBlock& block) {
      for (int64_t r = 0; r < block.rows; ++r)
        std::copy_n(block.c + r * block.c_row_stride, block.columns,
                    logits.data<float>() + (block.first_row + r) * 1100 + block.first_column);
    });
    EXPECT_TRUE(same_bits(logits, output.logits(hidden).value()));
  }
}

// The rows of the weight are asked for often before a search is made for them.
TEST(OutputProjection, TheLargestLogitsHaveTheBitsThatTheyHaveAmongAll) {
  for (const OutputProjectionOptions& o :
       {OutputProjectionOptions{.bias = true}, {.width = 7, .scale = 0.5f}, {.bias = true, .softcap = 2.0f}}) {
    Parameter weight = Parameter::matrix(8192, 128);
    weight.mutable_value().copy_from(random_tensor({8192, 128}, 1));
    OutputProjection output(weight, o);
    randomise(output, 1);
    const Tensor hidden = random_tensor({2, o.width == 0 ? 128 : o.width}, 2), all = output.logits(hidden).value();
    const std::vector<int64_t> counts = {1, 3};
    const std::vector<std::vector<int32_t>> also = {{4000, 2}, {}};
    OutputProjection::LargestLogits found;
    for (int i = 0; i < 100 && found.ids.empty(); ++i) {
      found = output.largest_logits(hidden, counts, also);
      EXPECT_TRUE(!found.ids.empty() || same_bits(found.logits, all));
    }
    EXPECT_EQ(found.ids.empty(), o.softcap != 0);
    EXPECT_EQ(output.searches_largest(2), o.softcap == 0);
    EXPECT_FALSE(output.searches_largest(64));
    if (found.ids.empty()) continue;
    std::vector<int32_t> of_both;
    for (const std::vector<int32_t>& ids : found.ids) of_both.insert(of_both.end(), ids.begin(), ids.end());
    sort_unique(of_both);
    ASSERT_EQ(found.logits.shape(), (Shape{2, std::ssize(of_both)}));
    for (int64_t r = 0; r < 2; ++r) {
      for (size_t i = 0; i < of_both.size(); ++i)
        EXPECT_EQ(found.logits.at<float>({r, static_cast<int64_t>(i)}), all.at<float>({r, of_both[i]}));
      const float* const row = all.data<float>() + r * 8192;
      const std::vector<int32_t>& ids = found.ids[static_cast<size_t>(r)];
      EXPECT_TRUE(std::ranges::binary_search(ids, static_cast<int32_t>(std::max_element(row, row + 8192) - row)));
    }
    EXPECT_TRUE(std::ranges::binary_search(found.ids[0], 2) && std::ranges::binary_search(found.ids[0], 4000));
  }
}

TEST(OutputProjection, AMatrixOfAnotherWidthFollowsAProjection) {
  OutputProjection output(matrix(), {.width = 7, .scale = 0.5f});
  randomise(output, 1);
  const Tensor hidden = random_tensor({1, 4, 7}, 2), y = output.logits(Variable(hidden)).value();
  const Tensor& projection = output.projection->weight.value();
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t v = 0; v < 5; ++v) {
      double logit = 0;
      for (int64_t e = 0; e < 3; ++e)
        for (int64_t c = 0; c < 7; ++c)
          logit += 0.5 * hidden.at<float>({0, t, c}) * projection.at<float>({e, c}) *
                   output.weight.value().at<float>({v, e});
      EXPECT_NEAR(y.at<float>({0, t, v}), logit, 1e-5);
    }
}

TEST(OutputProjection, LossIsTheCrossEntropyOfItsLogitsWithTheSameGradients) {
  const Tensor targets = Tensor::from(std::vector<int32_t>{1, 4, -1, 0, 2, 2, -1, 3}, {2, 4});
  for (const OutputProjectionOptions& o :
       {OutputProjectionOptions{.bias = true, .scale = 0.5f}, {.bias = true, .softcap = 2.0f}}) {
    const auto run = [&](bool whole) {
      OutputProjection output(matrix(), o);
      randomise(output, 1);
      const Variable hidden(random_tensor({2, 4, 3}, 2), {.requires_grad = true});
      const CrossEntropy e = whole ? cross_entropy(reshape(output.logits(hidden), {8, 5}), targets.reshape({8}))
                                   : output.loss(hidden, targets, {});
      e.loss.backward();
      EXPECT_EQ(e.count, 6);
      return std::vector<Tensor>{e.loss.value(), hidden.grad(), output.weight.grad(), output.bias.grad()};
    };
    const std::vector<Tensor> whole = run(true), pieces = run(false);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_LT(largest_difference(whole[i], pieces[i]), 1e-6) << i;
  }
  OutputProjection output(matrix());
  EXPECT_THROW(output.loss(random_tensor({2, 3, 3}, 2), targets, {}), Error) << "4 targets for 3 positions";
}

TEST(OutputProjection, OfSomeTokensGivesTheirLogitsBitForBit) {
  for (const OutputProjectionOptions& o :
       {OutputProjectionOptions{}, {.bias = true, .scale = 0.5f}, {.width = 7, .bias = true, .softcap = 2.0f}}) {
    Parameter table = Parameter::matrix(5, 3);
    table.mutable_value().copy_from(random_tensor({5, 3}, 1));
    OutputProjection output(table, o);
    randomise(output, 1);
    const std::vector<int32_t> ids = {4, 0, 2};
    const Tensor hidden = random_tensor({2, 4, o.width == 0 ? 3 : o.width}, 2);
    const Tensor all = output.logits(hidden).value(), some = output.of_tokens(ids).logits(hidden).value();
    ASSERT_EQ(some.shape(), (Shape{2, 4, 3}));
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t t = 0; t < 4; ++t)
        for (int64_t i = 0; i < 3; ++i)
          EXPECT_EQ(some.at<float>({b, t, i}), all.at<float>({b, t, ids[static_cast<size_t>(i)]}));
  }
}

}  // namespace qkv::output_projection_test
