#include "qkv/base/subgroup.h"

#include <gtest/gtest.h>

#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"

namespace qkv::subgroup_test {

TEST(Subgroup, SumsOverItsRanksAlone) {
  run_ranks(6, [](Communicator& c) {
    const int parity = c.rank() % 2;
    Subgroup group(c, {4 + parity, parity, 2 + parity});
    EXPECT_EQ(group.size(), 3);
    EXPECT_EQ(group.rank(), c.rank() / 2 == 2 ? 0 : c.rank() / 2 + 1);
    EXPECT_EQ(all_gather_number(group, c.rank()), (std::vector<int64_t>{4 + parity, parity, 2 + parity}));
    EXPECT_EQ(c.bytes_sent(), group.bytes_sent());
    EXPECT_GT(c.bytes_sent(), 0);
  });
}

TEST(Subgroup, RefusesRanksThatItCannotHave) {
  run_ranks(2, [](Communicator& c) {
    EXPECT_THROW(Subgroup(c, {}), Error);
    EXPECT_THROW(Subgroup(c, {0, 1, 2}), Error);
    EXPECT_THROW(Subgroup(c, {0, 1, 0}), Error);
    EXPECT_THROW(Subgroup(c, {1 - c.rank()}), Error);
  });
}

}  // namespace qkv::subgroup_test
