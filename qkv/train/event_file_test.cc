#include "qkv/train/event_file_test.h"

namespace qkv::event_file_test {

TEST(EventFile, SumsAreThoseOfCastagnoli) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(""), 0u);
}

// The first record of files that TensorFlow writes, byte for byte.
TEST(EventFile, BeginsWithTheVersionOfTheFormat) {
  const std::string start = event_file_start(1234.5);
  EXPECT_EQ(start.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(start.substr(start.size() - 4 - 15, 15),
            "\x1a\x0d"
            "brain.Event:2");
  const std::vector<ReadEvent> events = read_events(start);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 1234.5);
}

TEST(EventFile, HasTheScalarsOfAStep) {
  const std::vector<EventScalar> scalars = {{"train/loss", 3.25}, {"train/learning_rate", 1e-3}};
  const std::vector<ReadEvent> events = read_events(scalar_event(70'000, 2.5, scalars));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].step, 70'000);
  EXPECT_EQ(events[0].wall_time, 2.5);
  EXPECT_EQ(events[0].scalars,
            (std::map<std::string, float>{{"train/loss", 3.25f}, {"train/learning_rate", 1e-3f}}));
}

}  // namespace qkv::event_file_test
