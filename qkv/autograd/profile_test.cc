#include "qkv/autograd/profile.h"

#include <numeric>

#include <gtest/gtest.h>

#include "qkv/autograd/variable.h"

namespace qkv::profile_test {

using Span = Profile::Span;

Variable half(const Variable& x) {
  const OpScope scope("half", OpWork::moves(x.value(), 2));
  return record("half", {x}, x.value().clone(), [](const Tensor& dy, const std::vector<bool>&) {
    const OpScope part("half: dx", {.flops = 7});
    return std::vector<Tensor>{dy};
  });
}

Variable leaf() { return Variable(Tensor::full({4}, 1.0f), {.requires_grad = true}); }

TEST(Profile, HasNothingOfWhatRunsOutsideOfItsScope) {
  Profile profile;
  half(leaf());
  {
    const ProfileScope on(&profile);
    const ProfileScope off(nullptr);
    EXPECT_FALSE(is_profiling());
    half(leaf());
    count_work({.flops = 1});
  }
  EXPECT_FALSE(is_profiling());
  EXPECT_TRUE(profile.spans().empty());
}

TEST(Profile, HasTheForwardAndTheBackwardOfAnOp) {
  Profile profile;
  {
    const ProfileScope on(&profile);
    half(leaf()).backward(Tensor::full({4}, 1.0f));
  }
  const std::vector<Span>& spans = profile.spans();
  ASSERT_GE(spans.size(), 4u);
  EXPECT_EQ(spans[0].name, "half");
  EXPECT_EQ(spans[0].pass, OpPass::forward);
  EXPECT_EQ(spans[0].work.bytes, 2 * 4 * 4);
  EXPECT_EQ(spans[1].name, "tape");
  EXPECT_EQ(spans[2].name, "half");
  EXPECT_EQ(spans[2].pass, OpPass::backward);
  EXPECT_EQ(spans[3].name, "half: dx");
  EXPECT_EQ(spans[3].pass, OpPass::backward) << "what an op opens in its backward is backward";
  EXPECT_EQ(spans[3].parent, 2);
  EXPECT_EQ(spans[3].work.flops, 7);
}

TEST(Profile, CountsEveryNanosecondOnce) {
  Profile profile;
  {
    const ProfileScope on(&profile);
    const OpScope all("all");
    for (int i = 0; i < 3; ++i) half(half(leaf())).backward(Tensor::full({4}, 1.0f));
  }
  int64_t own = 0;
  for (const Span& span : profile.spans()) {
    EXPECT_GE(span.own_ns, 0);
    EXPECT_GE(span.end_ns, span.begin_ns);
    own += span.own_ns;
  }
  EXPECT_EQ(own, profile.spans()[0].end_ns - profile.spans()[0].begin_ns);
}

TEST(Profile, WorkIsCountedForTheInnermostSpan) {
  Profile profile;
  {
    const ProfileScope on(&profile);
    const OpScope outer("outer", {.flops = 1});
    in_span("inner", [] {
      count_work({.flops = 2, .shape = {3}});
      count_work({.flops = 4, .shape = {5}});
      return 0;
    });
    count_work({.flops = 8});
  }
  EXPECT_EQ(profile.spans()[0].work.flops, 9);
  EXPECT_EQ(profile.spans()[1].work.flops, 6);
  EXPECT_EQ(profile.spans()[1].work.shape, Shape{5});
}

TEST(Profile, IsCompleteAfterAnError) {
  Profile profile;
  try {
    const ProfileScope on(&profile);
    const OpScope outer("outer");
    const OpScope inner("inner");
    throw 1;
  } catch (int) {
  }
  EXPECT_FALSE(is_profiling());
  for (const Span& span : profile.spans()) EXPECT_GE(span.end_ns, span.begin_ns);
}

}  // namespace qkv::profile_test
