// Published models in their own format, compared with the results of Hugging Face transformers: a test for each folder
// and check, if the folder has a reference for it.
//
//     build/test/checkpoint_test --models DIR           # folders with a model, and reference.json
//
// test/checkpoints/README.md says what the reference files hold.
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "test/checkpoint_test/checks.h"

namespace {

namespace fs = std::filesystem;

class CheckTest : public testing::Test {
 public:
  CheckTest(const fs::path& folder, void (*check)(const fs::path&)) : folder_(folder), check_(check) {}
  void TestBody() override { check_(folder_); }

 private:
  fs::path folder_;
  void (*check_)(const fs::path&);
};

// "gpt-neox" is a suite "gpt_neox": a dash would mean "not" in a filter.
std::string suite_name(const fs::path& folder) {
  std::string name = folder.filename().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

int register_tests(const fs::path& models) {
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(models))
    if (fs::exists(entry.path() / "reference.json")) folders.insert(entry.path());
  for (const fs::path& folder : folders)
    for (const qkv::test::Check& check : qkv::test::checks_of(folder))
      testing::RegisterTest(suite_name(folder).c_str(), check.name, nullptr, nullptr, __FILE__, __LINE__,
                            [=]() -> testing::Test* { return new CheckTest(folder, check.run); });
  return static_cast<int>(folders.size());
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  fs::path models = fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints";
  if (argc == 3 && std::string(argv[1]) == "--models") models = argv[2];
  if (register_tests(models) == 0) {
    std::fprintf(stderr, "checkpoint_test: %s has no folder with a reference.json\n", models.c_str());
    return 1;
  }
  return RUN_ALL_TESTS();
}
