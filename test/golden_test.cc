// Every case of a folder of golden files (test/golden/README.md), one test each, named group.case:
//
//     golden_test                                    # the project's own files
//     golden_test --golden DIR --gtest_filter='sdpa.*'
//
// A case passes when every output and gradient in its file was matched, is skipped when it needs something that is not
// built, and fails otherwise, also when its file cannot be read. The largest error of each group is printed at the end.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "test/golden_test/case.h"

namespace qkv::golden {
namespace {

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(std::filesystem::path path) : path_(std::move(path)) {}

  void TestBody() override {
    try {
      Case c(path_);
      const auto group = groups().find(c.group());
      if (group == groups().end()) throw NotBuilt(fmt::format("group {} is not built yet", c.group()));
      group->second(c);
      if (!HasFatalFailure()) c.finish();
    } catch (const NotBuilt& e) {
      GTEST_SKIP() << e.what();
    } catch (const std::exception& e) {
      FAIL() << e.what();
    }
  }

 private:
  std::filesystem::path path_;
};

class Summary final : public testing::EmptyTestEventListener {
  void OnTestProgramEnd(const testing::UnitTest& all) override {
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const testing::TestSuite& group = *all.GetTestSuite(i);
      if (group.should_run())
        std::printf("%-11s %3d passed %3d skipped %3d failed\n", group.name(), group.successful_test_count(),
                    group.skipped_test_count(), group.failed_test_count());
    }
    const std::string table = table_of_errors();
    if (!table.empty()) std::printf("largest errors\n%s", table.c_str());
  }
};

struct Names {
  std::string group, name;
};

// A file that cannot be read has the name of the file, and its test will say why.
Names names_of(const std::filesystem::path& path) {
  try {
    const Case c(path);
    return {c.group(), c.name()};
  } catch (const std::exception&) {
    return {"unreadable", path.stem().string()};
  }
}

// The full names of the tests.
std::set<std::string> register_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::set<std::string> registered;
  for (const auto& path : files) {
    Names names = names_of(path);
    if (registered.contains(names.group + '.' + names.name)) names.name += " (" + path.stem().string() + ")";
    registered.insert(names.group + '.' + names.name);
    testing::RegisterTest(names.group.c_str(), names.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [path]() -> testing::Test* { return new GoldenTest(path); });
  }
  return registered;
}

// GoogleTest reads the first '-' of a filter as "but not": the full name of one test is meant as it stands.
void protect_dashes(std::string& argument, const std::set<std::string>& tests) {
  constexpr std::string_view filter = "--gtest_filter=";
  if (argument.starts_with(filter) && tests.contains(argument.substr(filter.size())))
    std::replace(argument.begin() + filter.size(), argument.end(), '-', '?');
}

int run(int argc, char** argv) {
  std::filesystem::path folder = QKV_SOURCE_DIR "/test/golden";
  std::vector<std::string> arguments = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--golden" && i + 1 < argc) {
      folder = argv[++i];
    } else if (argument.starts_with("--golden=")) {
      folder = argument.substr(9);
    } else if (argument.starts_with("--gtest_")) {
      arguments.push_back(argument);
    } else {
      fail<UsageError>("golden_test", "unknown argument {}: golden_test [--golden DIR] [--gtest_filter=PATTERN]",
                       argument);
    }
  }
  require<UsageError>(std::filesystem::is_directory(folder), "golden_test", "--golden {}: no such folder",
                      folder.string());
  const std::set<std::string> tests = register_cases(folder);
  require<InputError>(!tests.empty(), "golden_test", "{} holds no .safetensors file", folder.string());

  std::vector<char*> pointers;
  for (std::string& argument : arguments) {
    protect_dashes(argument, tests);
    pointers.push_back(argument.data());
  }
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  testing::InitGoogleTest(&count, pointers.data());
  testing::UnitTest::GetInstance()->listeners().Append(new Summary);
  const int status = RUN_ALL_TESTS();
  if (testing::GTEST_FLAG(list_tests)) return status;
  require<UsageError>(testing::UnitTest::GetInstance()->test_to_run_count() > 0, "golden_test",
                      "the filter selects no test");
  return status;
}

}  // namespace
}  // namespace qkv::golden

int main(int argc, char** argv) {
  try {
    return qkv::golden::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
