#include "qkv/train/interrupt.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::interrupt_test {

int handled = 0;
void handle(int signal) { handled = signal; }

TEST(Interrupt, ReportsEachOfItsSignals) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto before = std::signal(signal, handle);
    {
      const Interrupt interrupt;
      EXPECT_FALSE(interrupt.requested());
      std::raise(signal);
      EXPECT_TRUE(interrupt.requested());
      EXPECT_EQ(interrupt.signal(), signal);
      EXPECT_EQ(handled, 0);
    }
    std::raise(signal);
    EXPECT_EQ(handled, signal) << "it has its previous effect";
    handled = 0;
    std::signal(signal, before);
  }
}

TEST(Interrupt, ASignalThatIsIgnoredStaysIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // as nohup makes it
  {
    const Interrupt interrupt;
    std::raise(SIGHUP);
    EXPECT_FALSE(interrupt.requested());
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

TEST(Interrupt, OnlyOneMayExist) {
  const Interrupt interrupt;
  EXPECT_THROW(Interrupt(), Error);
}

}  // namespace qkv::interrupt_test
