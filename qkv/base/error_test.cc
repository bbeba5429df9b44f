#include "qkv/base/error.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "qkv/base/file.h"

namespace qkv::error_test {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Error, ShowsControlCharactersOfFileNamesAsText) {
  EXPECT_EQ(message_of([] { read_file("no/\x1b[31mfile\n"); }),
            "read: no/\\x1b[31mfile\\x0a: No such file or directory");
  EXPECT_EQ(message_of([] { fail("a\rb", "{}", "\xc3\xa9\x7f"); }), "a\\x0db: \xc3\xa9\\x7f");
}

TEST(Error, BeginsWithItsOperation) {
  const InputError error("a\x1b.tsv", "line 3");
  EXPECT_EQ(error.op() + ": line 3", error.what());
}

TEST(Error, HasMessagesOfAnyLength) {
  const std::string name(5000, 'a');
  EXPECT_EQ(message_of([&] { fail("op", "{}", name); }), "op: " + name);
}

}  // namespace
}  // namespace qkv::error_test
