// attention() on hundreds of random calls with every mechanism, against the reference in float64: the error may be
// twice the error of a plain computation in the type of the inputs. Also the guarantees, bit for bit: neither the other
// rows of the batch nor the number of threads change a result, and a query without visible keys has zeros.
//
// test/CMakeLists.txt runs it once for every instruction set.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/base/file.h"
#include "qkv/base/threads.h"
#include "test/attention_random_test/check.h"

namespace qkv::attention_random_test {

using namespace test;

constexpr uint64_t calls = 400, calls_per_test = 20;

Drawn draw_call(uint64_t number) {
  // One in ten is large enough for several tiles along both axes, and heads.
  return draw(number, number % 2 ? DType::bf16 : DType::f32, {.max_work = number % 10 < 2 ? 2'000'000 : 200'000});
}

void expect_exact(const Drawn& call, const std::vector<Tensor>& got) {
  EXPECT_EQ(excess_error(call, got), "");
  EXPECT_EQ(nonzero_empty_row(call, got), "");
}

void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const std::string& when) {
  for (size_t n = 0; n < wanted.size(); ++n) EXPECT_TRUE(same_bits(got[n], wanted[n])) << when << ": " << n;
}

// A row alone, in a batch of one. (The random numbers of dropout count from row 0.)
void expect_independent_rows(const Drawn& call, const std::vector<Tensor>& together) {
  const int64_t b = call.has("weight_dropout") ? 0 : call.n.B - 1;
  const auto row = [b](const Tensor& x) { return x.slice(0, b, b + 1); };
  const auto rows = [&](const std::vector<Tensor>& all) {  // gradients of parameters have none
    std::vector<Tensor> of_row;
    for (size_t n = 0; n < std::min<size_t>(6, all.size()); ++n) of_row.push_back(row(all[n]));
    return of_row;
  };
  const Inputs inputs{row(call.q), row(call.k), row(call.v), row(call.dout)};
  expect_same_bits(results(call, inputs, {b, 1}), rows(together), "a row alone");
  expect_same_bits(outputs(call, inputs, {b, 1}), rows(outputs(call)), "a row alone, without a tape");
}

void expect_independent_of_threads(const Drawn& call, const std::vector<Tensor>& wanted) {
  const int before = threads();
  const std::vector<Tensor> wanted_outputs = outputs(call);
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    expect_same_bits(results(call), wanted, fmt::format("{} threads", count));
    expect_same_bits(outputs(call), wanted_outputs, fmt::format("{} threads, without a tape", count));
  }
  set_threads(before);
}

// Without weights the same bits; without a tape as exact, and the same zeros.
void expect_exact_outputs(const Drawn& call, const std::vector<Tensor>& recorded) {
  std::vector<Tensor> now = outputs(call);
  EXPECT_TRUE(same_bits(as_float(attention(call.q, call.k, call.v, call.options())), now[0])) << "the output alone";
  if (same_bits(now[0], recorded[0])) return;
  now.insert(now.end(), recorded.begin() + 3, recorded.end());
  expect_exact(call, now);
}

void check_call(uint64_t number) {
  const Drawn call = draw_call(number);
  SCOPED_TRACE(fmt::format("call {}: {}", number, call.name()));
  const std::vector<Tensor> got = results(call);
  expect_exact(call, got);
  expect_exact_outputs(call, got);
  if (call.n.B > 1) expect_independent_rows(call, got);
  if (number % 3 == 0) expect_independent_of_threads(call, got);
}

class RandomCalls : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomCalls, AreAsExactAsThePlainComputationAndDeterministic) {
  for (uint64_t n = 0; n < calls_per_test; ++n) check_call(GetParam() * calls_per_test + n);
}

INSTANTIATE_TEST_SUITE_P(Attention, RandomCalls, testing::Range<uint64_t>(0, calls / calls_per_test));

// The functions that make a score, mask, modifier, normalizer or reweigher, as the public headers declare them.
std::set<std::string> declared_mechanisms() {
  const std::filesystem::path folder = std::filesystem::path(QKV_SOURCE_DIR) / "qkv" / "attention";
  const std::regex declaration(
      R"((?:^|\n)(?:inline |requires [^\n]*)?(?:ScorePtr|MaskPtr|ModifierPtr|NormalizerPtr|ReweigherPtr|PredictedWindow)\s+(\w+)\()");
  const std::regex internal(R"(namespace internal \{[^]*?\}  // namespace internal)");
  std::vector<std::filesystem::path> headers = {folder / "local.h"};
  for (const char* part : {"score", "mask", "modify", "normalize", "reweigh"})
    for (const auto& entry : std::filesystem::directory_iterator(folder / part))
      if (entry.path().extension() == ".h" && !entry.path().stem().string().ends_with("_test"))
        headers.push_back(entry.path());
  std::set<std::string> names;
  for (const auto& header : headers) {
    const std::string text = std::regex_replace(read_file(header), internal, "");
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
      names.insert((*at)[1]);
  }
  return names;
}

TEST(RandomCalls, HaveEveryMechanismInBothTypes) {
  std::map<std::string, int> drawn[2];
  for (uint64_t number = 0; number < calls; ++number)
    for (const std::string& mechanism : draw_call(number).mechanisms()) ++drawn[number % 2][mechanism];
  std::set<std::string> wanted = declared_mechanisms();
  EXPECT_GE(wanted.size(), 36u);
  wanted.insert({"&", "|", "!"});
  for (const std::string& mechanism : wanted)
    for (const int type : {0, 1})
      EXPECT_GE(drawn[type][mechanism], 2) << mechanism << (type ? " in bf16" : " in f32");
  for (const auto& [mechanism, count] : drawn[0])
    EXPECT_TRUE(wanted.contains(mechanism)) << mechanism << " is drawn, but no header declares it";
}

}  // namespace qkv::attention_random_test
