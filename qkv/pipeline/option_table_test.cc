#include "qkv/decode/option_table.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"

namespace qkv::option_table_test {

template <class Options>
class OptionTable : public testing::Test {};
using AllOptions = testing::Types<SearchOptions, SamplingOptions, TranslateOptions, GenerateTextOptions,
                                  EmbedOptions, FillMaskOptions, ScorePairsOptions, ScoreTextOptions>;
TYPED_TEST_SUITE(OptionTable, AllOptions);

template <class Options>
std::string error_of(const Options& options) {
  try {
    visit_options(options, CheckRanges{"test"});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TYPED_TEST(OptionTable, HasRowsOfDifferentNamesWithHelp) {
  const TypeParam options;
  std::set<std::string> names;
  visit_options(options, [&](const Setting& setting, const auto&) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_GT(std::string(setting.help).size(), 5u) << setting.name;
  });
  EXPECT_GE(names.size(), 2u);
}

TYPED_TEST(OptionTable, DefaultsAreInTheirRanges) { EXPECT_EQ(error_of(TypeParam()), ""); }

TYPED_TEST(OptionTable, ANumberBeyondABoundIsRefusedByItsName) {
  const TypeParam defaults;
  TypeParam options;
  visit_options(options, [&](const Setting& setting, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    if constexpr (std::is_arithmetic_v<Field> && !std::is_same_v<Field, bool>) {
      const Field before = field;
      for (const double beyond : {setting.range.from - 1, setting.range.to + 1})
        if (std::isfinite(beyond)) {
          field = static_cast<Field>(beyond);
          EXPECT_EQ(error_of(options),
                    fmt::format("test: {} must be {}, got {}", setting.name, to_string(setting.range), field));
          field = before;
        }
    }
  });
  EXPECT_EQ(error_of(options), error_of(defaults));
}

}  // namespace qkv::option_table_test
