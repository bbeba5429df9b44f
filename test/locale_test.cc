// Output does not depend on the locale of the host program: numbers have a point where the locale has a comma.

#include <array>
#include <clocale>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "qkv/base/file.h"
#include "qkv/picture/heatmap.h"
#include "qkv/test_support/scratch_folder.h"
#include "qkv/train/training_test.h"

namespace qkv::locale_test {

// LC_ALL of the process, as long as it lives; a locale that the system lacks is made in a folder.
class InLocale {
 public:
  explicit InLocale(const std::string& name) {
    const std::string made = (folder_.path() / (name + ".UTF-8")).string();
    if (std::system(fmt::format("localedef -i {} -f UTF-8 {} >/dev/null 2>&1", name, made).c_str()) != 0) return;
    ::setenv("LOCPATH", folder_.path().c_str(), 1);
    set_ = std::setlocale(LC_ALL, (name + ".UTF-8").c_str()) != nullptr;
  }
  ~InLocale() {
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
  }
  InLocale(const InLocale&) = delete;
  InLocale& operator=(const InLocale&) = delete;
  bool is_set() const { return set_; }

 private:
  const test::ScratchFolder folder_;
  bool set_ = false;
};

std::string heatmap_of_long_numbers() {
  return heatmap(Tensor::from(std::vector<float>{0.123456f, 0.5f, 0.25f, 0.777f}, {2, 2}), {}).svg();
}

std::array<std::string, 4> written(const std::filesystem::path& folder) {
  write_small_corpus(folder / "pairs.tsv", 60, 1);
  TrainOptions o = small_training(folder / "pairs.tsv", folder / "model");
  o.overwrite = true;
  o.max_steps = 2;
  o.label_smoothing = 0.15;
  o.architecture.transformer().dropout = 0.1f;
  o.architecture.transformer().norm_eps = 1.5e-5f;
  train(o);
  return {read_file(folder / "model/config.json"), read_file(folder / "model/training/options.json"),
          read_file(folder / "model/model.safetensors"), heatmap_of_long_numbers()};
}

class Locale : public testing::TestWithParam<const char*> {};

TEST_P(Locale, ChangesNothingThatIsWritten) {
  const test::ScratchFolder folder;
  const auto expected = written(folder.path());
  EXPECT_NE(expected[0].find("\"dropout\": 0.1,"), std::string::npos) << expected[0];
  const InLocale locale(GetParam());
  if (!locale.is_set()) GTEST_SKIP() << "localedef cannot make the locale " << GetParam();
  ASSERT_EQ(std::strtod("0.5", nullptr), 0.0) << "the decimal point of this locale is a comma";
  const auto found = written(folder.path());
  const std::array<const char*, 4> names = {"config.json", "options.json", "model.safetensors", "svg"};
  for (size_t i = 0; i < names.size(); ++i) EXPECT_TRUE(found[i] == expected[i]) << names[i] << "\n" << found[i];
}

INSTANTIATE_TEST_SUITE_P(WithADecimalComma, Locale, testing::Values("de_DE", "tr_TR"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace qkv::locale_test
