#include "qkv/decode/speculation.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/decode/generate.h"
#include "qkv/decode/proposal_length.h"
#include "qkv/model/causal.h"
#include "qkv/test_support/tensors.h"

namespace qkv::speculation_test {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 12;

using Change = void (*)(TransformerConfig&);
struct Variant {
  const char* name;
  Change change;
  bool takes_several = true;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

Rotary rotary_with(RotaryScaling scaling) {
  scaling.factor = 4, scaling.original_positions = 24;
  if (scaling.type == RotaryScalingType::longrope) scaling.short_factors = {1, 1.5}, scaling.long_factors = {2, 3};
  return {.scaling = scaling};
}

const Variant variants[] = {
    {"Sinusoidal", [](TransformerConfig&) {}},
    {"RotaryGrouped", [](TransformerConfig& c) { c.positions = Positions::rotary, c.kv_heads = 2; }},
    {"Learned", [](TransformerConfig& c) { c.positions = Positions::learned; }},
    {"WindowAndSink",
     [](TransformerConfig& c) {
       c.positions = Positions::rotary, c.self_attention.decoder = SlidingWindow{5} + SoftmaxWithSink{};
     }},
    {"AlibiSoftcap",
     [](TransformerConfig& c) { c.positions = Positions::none, c.self_attention.decoder = Alibi{} + Softcap{8}; }},
    {"Additive", [](TransformerConfig& c) { c.self_attention.decoder = Additive{}; }},
    {"LongformerSeparate",
     [](TransformerConfig& c) {
       c.self_attention.decoder = LongformerSeparate{4, 9};
     }},
    {"LongRope",
     [](TransformerConfig& c) {
       c.positions = Positions::none, c.self_attention.decoder = rotary_with({.type = RotaryScalingType::longrope});
     }},
    {"Dynamic",
     [](TransformerConfig& c) {
       c.positions = Positions::none, c.self_attention.decoder = rotary_with({.type = RotaryScalingType::dynamic});
     },
     false},
    {"MultiToken", [](TransformerConfig& c) { c.self_attention.decoder = MultiToken{}; }, false}};

CausalTransformer model_of(Change change, uint64_t seed = 1, int64_t positions = 100) {
  TransformerConfig c;
  c.architecture = Architecture::causal;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.ffn = 24, c.decoder_layers = 2, c.max_positions = positions;
  change(c);
  CausalTransformer model(c, seed);
  model.visit("", [stream = 100 * seed](const std::string&, Variable& p) mutable {
    p.mutable_value().copy_from(random_tensor(p.shape(), ++stream, 0.4));
  });
  return model;
}

const std::vector<Ids> prompts = {{1, 5, 7, 5, 7}, {1}, {1, 4}, {1, 9, 9, 2, 6}};

// Proposes what the answers are, with errors here and there.
class Oracle final : public Proposer {
 public:
  explicit Oracle(std::vector<Generated> answers) : answers_(std::move(answers)) {}
  std::vector<Ids> propose(std::span<const Row> rows) override {
    std::vector<Ids> out;
    for (const Row& row : rows) {
      const Ids& answer = answers_[row.number].ids;
      Ids of_row;
      const auto wanted = static_cast<int64_t>(random_.below(7));
      for (size_t i = row.tokens.size() - prompts[row.number].size();
           i < answer.size() && std::ssize(of_row) < wanted; ++i)
        of_row.push_back(random_.below(4) == 0 ? static_cast<int32_t>(random_.below(vocabulary)) : answer[i]);
      out.push_back(of_row);
    }
    return out;
  }

 private:
  std::vector<Generated> answers_;
  Random random_{7, 7};
};

std::vector<Generated> run(const CausalTransformer& model, GenerateOptions options,
                           std::shared_ptr<Proposer> proposer = {}, const OnToken& on_token = {}) {
  options.proposer = std::move(proposer);
  return generate(*model.start(std::ssize(prompts)), prompts, options, on_token);
}

void expect_same(const std::vector<Generated>& found, const std::vector<Generated>& plain,
                 const std::string& what) {
  for (size_t r = 0; r < plain.size(); ++r) {
    EXPECT_EQ(found[r].ids, plain[r].ids) << what << " row " << r;
    EXPECT_EQ(found[r].log_probability, plain[r].log_probability) << what << " row " << r;
    EXPECT_EQ(found[r].end, plain[r].end) << what << " row " << r;
  }
}

Speculated sum(const std::vector<Generated>& found) {
  Speculated all;
  for (const Generated& g : found) all.proposed += g.speculated.proposed, all.accepted += g.speculated.accepted;
  return all;
}

class SpeculationOf : public testing::TestWithParam<Variant> {};

TEST_P(SpeculationOf, GivesTheAnswersOfOneTokenAStepBitForBit) {
  CausalTransformer model = model_of(GetParam().change);
  for (const CacheFormat format : {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8}) {
    model.set_cache_format(format);
    const std::vector<std::pair<const char*, GenerateOptions>> all = {
        {"greedy", {.max_tokens = 40, .sampling = {.temperature = 0}}},
        {"ends", {.eos = {3, 8}, .max_tokens = 40, .min_tokens = 7, .sampling = {.temperature = 0}}},
        {"limit", {.max_tokens = 60, .position_limit = 33, .sampling = {.temperature = 0}}},
        {"penalties",
         {.max_tokens = 30, .sampling = {.temperature = 0, .repetition_penalty = 1.3, .no_repeat_ngram = 3}}},
        {"drawn", {.eos = {3}, .max_tokens = 40, .sampling = {.temperature = 0.9, .top_p = 0.9, .seed = 5}}}};
    for (const auto& [name, options] : all) {
      const std::string what = fmt::format("{} {}", name, name_of(format));
      const auto plain = run(model, options);
      const auto oracle = std::make_shared<Oracle>(plain);
      const auto found = run(model, options, oracle);
      expect_same(found, plain, what);
      expect_same(run(model, options, lookup_proposer(5)), plain, what + " lookup");
      const Speculated counts = sum(found);
      if (!options.eos.empty() && GetParam().takes_several) continue;  // the rows may be short
      EXPECT_EQ(counts.accepted > 20, GetParam().takes_several) << what;
      EXPECT_EQ(counts.proposed > counts.accepted, GetParam().takes_several) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SpeculationOf, testing::ValuesIn(variants),
                         [](const testing::TestParamInfo<Variant>& v) { return std::string(v.param.name); });

TEST(Speculation, CallsBackInOrderAndStopsWhereItIsToldTo) {
  const CausalTransformer model = model_of(variants[1].change);
  const GenerateOptions options = {.max_tokens = 40, .sampling = {.temperature = 0}};
  const auto plain = run(model, options);
  std::vector<Ids> seen(prompts.size());
  const auto found = run(model, options, std::make_shared<Oracle>(plain), [&](size_t row, int32_t id) {
    seen[row].push_back(id);
    return seen[row].size() < 5 + 3 * row;
  });
  for (size_t r = 0; r < prompts.size(); ++r) {
    EXPECT_EQ(seen[r], found[r].ids);
    EXPECT_EQ(seen[r], Ids(plain[r].ids.begin(), plain[r].ids.begin() + static_cast<std::ptrdiff_t>(5 + 3 * r)));
    EXPECT_EQ(found[r].end, Generated::End::stopped);
  }
}

// Past the spans and tiles of keys that attention is computed in.
TEST(Speculation, HasTheSameBitsInLongTexts) {
  for (const Change change : {variants[1].change, +[](TransformerConfig& c) {
                                c.positions = Positions::rotary, c.self_attention.decoder = SlidingWindow{150};
                              }}) {
    const CausalTransformer model = model_of(change, 1, 2000);
    const std::vector<Ids> prompt = {Ids(490, 1)};
    GenerateOptions options = {.max_tokens = 60, .sampling = {.temperature = 0, .repetition_penalty = 1.1}};
    const auto plain = generate(*model.start(1), prompt, options);
    options.proposer = lookup_proposer(9);
    const auto found = generate(*model.start(1), prompt, options);
    expect_same(found, plain, "");
    EXPECT_GT(found[0].speculated.proposed, 0);
  }
}

TEST(LookupProposer, ProposesWhatFollowedTheLatestOccurrence) {
  EXPECT_EQ(looked_up(Ids{1, 2, 3, 4, 9, 2, 3, 5, 8, 1, 2, 3}, 3), (Ids{4, 9, 2})) << "of three tokens";
  EXPECT_EQ(looked_up(Ids{1, 2, 3, 4, 9, 2, 3, 5, 8, 7, 2, 3}, 2), (Ids{5, 8})) << "of two, the latest";
  EXPECT_EQ(looked_up(Ids{1, 2, 3, 4}, 5), Ids{});
  EXPECT_EQ(looked_up(Ids{4, 4}, 5), Ids{});
  EXPECT_EQ(looked_up(Ids{}, 5), Ids{});
  EXPECT_EQ(looked_up(Ids{1, 2, 1, 2}, 0), Ids{});
}

TEST(LookupProposer, ContinuesARepetition) {
  EXPECT_EQ(looked_up(Ids{4, 4, 4}, 4), (Ids{4, 4, 4, 4}));
  EXPECT_EQ(looked_up(Ids{9, 1, 2, 1, 2}, 5), (Ids{1, 2, 1, 2, 1}));
}

TEST(DraftProposer, AModelThatDraftsForItselfIsAlwaysRight) {
  const auto model = std::make_shared<const CausalTransformer>(model_of(variants[1].change));
  const GenerateOptions options = {.eos = {3}, .max_tokens = 31, .sampling = {.temperature = 0}};
  const auto plain = run(*model, options), found = run(*model, options, draft_proposer(model, 4));
  expect_same(found, plain, "");
  const Speculated counts = sum(found);
  EXPECT_GT(counts.accepted, 20);
  int64_t after_end = 0;  // of rows that end before the last of the proposed ones
  for (const Generated& g : found) after_end += g.end == Generated::End::eos ? 4 : 0;
  EXPECT_LE(counts.proposed - counts.accepted, after_end);
}

TEST(DraftProposer, AnotherModelChangesNothing) {
  const CausalTransformer model = model_of(variants[1].change);
  const GenerateOptions options = {.eos = {3}, .max_tokens = 50, .sampling = {.temperature = 0}};
  const auto plain = run(model, options);
  for (const Variant& variant : variants) {
    const auto draft = std::make_shared<const CausalTransformer>(model_of(variant.change, 2));
    const auto found = run(model, options, draft_proposer(draft, 3));
    expect_same(found, plain, variant.name);
    EXPECT_GT(sum(found).proposed, 10) << variant.name;
  }
}

TEST(DraftProposer, StopsAtItsPositionLimitAndAtUnknownTokens) {
  const CausalTransformer model = model_of(variants[0].change);
  const GenerateOptions options = {.max_tokens = 50, .sampling = {.temperature = 0}};
  const auto plain = run(model, options);
  const auto few_positions = std::make_shared<const CausalTransformer>(model_of(variants[0].change, 2, 20));
  expect_same(run(model, options, draft_proposer(few_positions, 3)), plain, "20 positions");
  for (const int64_t ids : {vocabulary - 3, vocabulary + 5}) {
    TransformerConfig c = model.config().transformer();
    c.source_vocabulary = c.target_vocabulary = ids;
    const auto other = std::make_shared<const CausalTransformer>(c, 5);
    expect_same(run(model, options, draft_proposer(other, 3)), plain, fmt::format("{} ids", ids));
  }
}

// The numbers of tokens that are proposed while an answer has `tokens` tokens, of which `is_right` says whether they were right.
std::vector<int64_t> proposal_lengths(int64_t tokens, bool (*is_right)(int64_t)) {
  ProposalLength length(4);
  std::vector<int64_t> out;
  for (Ids answer = {1}; std::ssize(answer) < tokens;) {
    const int64_t count = length.next(answer);
    out.push_back(count);
    Ids proposed;
    for (int64_t i = 0; i < count; ++i) proposed.push_back(is_right(std::ssize(answer) + i) ? 1 : 2);
    length.proposed(answer.size(), proposed);
    const auto right = std::ranges::find(proposed, 2) - proposed.begin();
    answer.insert(answer.end(), static_cast<size_t>(right) + 1, 1);
  }
  return out;
}

TEST(ProposalLength, IsOneMoreThanWereRightOrTwiceAsMany) {
  EXPECT_EQ(proposal_lengths(16, [](int64_t) { return true; }), (std::vector<int64_t>{4, 4, 4}));
  EXPECT_EQ(proposal_lengths(9, [](int64_t at) { return at % 3 != 0; }), (std::vector<int64_t>{4, 3, 3}));
  EXPECT_EQ(proposal_lengths(26, [](int64_t at) { return at != 1; }), (std::vector<int64_t>{4, 1, 2, 4, 4, 4, 4}));
}

TEST(ProposalLength, WaitsTwiceAsLongAfterEveryWrongProposal) {
  const auto lengths = proposal_lengths(300, [](int64_t) { return false; });
  EXPECT_EQ(std::vector(lengths.begin(), lengths.begin() + 12),
            (std::vector<int64_t>{4, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_LE(std::ranges::count_if(lengths, [](int64_t count) { return count > 0; }), 24);
}

TEST(ProposalLength, ARightTokenEndsTheWaits) {
  const auto lengths = proposal_lengths(60, [](int64_t at) { return at >= 20; });
  EXPECT_EQ(std::vector(lengths.end() - 4, lengths.end()), (std::vector<int64_t>{4, 4, 4, 4}));
}

TEST(Proposers, RefuseToProposeNothing) {
  EXPECT_THROW(lookup_proposer(0), UsageError);
  EXPECT_THROW(draft_proposer(nullptr, 0), UsageError);
}

}  // namespace qkv::speculation_test
