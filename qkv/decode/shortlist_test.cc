#include "qkv/decode/shortlist.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/decode/shortlist_counts.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::shortlist_test {

using Ids = std::vector<int32_t>;
using Metadata = std::map<std::string, std::string>;

ShortlistTable small_table() {
  return {.source = {.size = 4, .checksum = "0000000a"},
          .target = {.size = 9, .checksum = "0000000b"},
          .frequent = {5, 2},
          .translations = {{}, {8, 1, 5}, {3}, {}}};
}

TEST(Shortlist, CandidatesAreTheFrequentTokensAndTheTranslationsOfEachSourceToken) {
  const Shortlist shortlist(small_table());
  EXPECT_EQ(shortlist.candidates({}), (Ids{2, 5}));
  EXPECT_EQ(shortlist.candidates(Ids{0, 3}), (Ids{2, 5}));
  EXPECT_EQ(shortlist.candidates(Ids{2, 1, 2}), (Ids{1, 2, 3, 5, 8}));
  EXPECT_THROW(shortlist.candidates(Ids{4}), Error);
  EXPECT_THROW(shortlist.candidates(Ids{-1}), Error);
}

TEST(Shortlist, AFileGivesTheSameShortlist) {
  const test::ScratchFolder scratch;
  const auto path = scratch.path() / "a.shortlist";
  Shortlist(small_table()).save(path);
  const ShortlistTable read = Shortlist::load(path).table(), expected = small_table();
  EXPECT_EQ(read.source, expected.source);
  EXPECT_EQ(read.target, expected.target);
  EXPECT_EQ(read.frequent, expected.frequent);
  EXPECT_EQ(read.translations, expected.translations);
  Shortlist(small_table()).save(scratch.path() / "b.shortlist");
  EXPECT_EQ(read_file(path), read_file(scratch.path() / "b.shortlist"));
}

TEST(Shortlist, RefusesOtherVocabulariesAndSaysWhichSideDiffers) {
  const Shortlist shortlist(small_table());
  const VocabularyKey source = small_table().source, target = small_table().target;
  shortlist.check_vocabularies(source, target, "a.shortlist");
  const auto message = [&](const VocabularyKey& s, const VocabularyKey& t) -> std::string {
    try {
      shortlist.check_vocabularies(s, t, "a.shortlist");
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message({4, "0000000c"}, target).find("source vocabulary"), std::string::npos);
  EXPECT_NE(message(source, {10, target.checksum}).find("target vocabulary has 9"), std::string::npos);
}

TEST(Shortlist, RefusesTablesThatDoNotFitTheirVocabularies) {
  ShortlistTable table = small_table();
  table.translations.pop_back();
  EXPECT_THROW(Shortlist{table}, InputError);
  for (const int32_t id : {-1, 9}) {
    table = small_table();
    table.frequent.push_back(id);
    EXPECT_THROW(Shortlist{table}, InputError);
    table = small_table();
    table.translations[0] = {id};
    EXPECT_THROW(Shortlist{table}, InputError);
  }
}

TEST(Shortlist, RefusesDamagedFiles) {
  const test::ScratchFolder scratch;
  const auto path = scratch.path() / "a.shortlist";
  Shortlist(small_table()).save(path);
  const std::string bytes = read_file(path);
  for (size_t length = 0; length < bytes.size(); ++length) {
    write_file(path, bytes.substr(0, length));
    EXPECT_THROW(Shortlist::load(path), InputError) << "cut after " << length << " bytes";
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    write_file(path, changed);
    EXPECT_THROW(Shortlist::load(path), InputError) << "byte " << at;
  }
  write_file(path, bytes + "x");
  EXPECT_THROW(Shortlist::load(path), InputError);
  EXPECT_THROW(Shortlist::load(scratch.path() / "none"), InputError);
}

// Files whose checksum is right.
TEST(Shortlist, RefusesFilesThatContradictThemselves) {
  const test::ScratchFolder scratch;
  const auto path = scratch.path() / "a.shortlist";
  const auto list = [](const Ids& ids) { return Tensor::from(ids, {std::ssize(ids)}); };
  const NamedTensors tensors = {
      {"frequent", list({5})}, {"offsets", list({0, 0, 2, 2, 3})}, {"translations", list({8, 1, 3})}};
  const Metadata metadata = {{"qkv.shortlist", "1"},
                             {"source.size", "4"},
                             {"source.checksum", "a"},
                             {"target.size", "9"},
                             {"target.checksum", "b"}};
  const auto load = [&](const NamedTensors& with, const Metadata& said) {
    save_safetensors(path, with, said);
    return Shortlist::load(path);
  };
  EXPECT_EQ(load(tensors, metadata).candidates(Ids{3}), (Ids{3, 5}));
  for (const auto& [key, value] : {std::pair("qkv.shortlist", "2"),
                                   {"qkv.shortlist", ""},
                                   {"source.size", "5"},
                                   {"source.size", "-4"},
                                   {"source.size", "4x"},
                                   {"source.size", ""},
                                   {"source.size", "99999999999999999999"},
                                   {"target.size", "8"},
                                   {"target.size", "0"},
                                   {"target.checksum", ""}}) {
    Metadata changed = metadata;
    changed[key] = value;
    EXPECT_THROW(load(tensors, changed), InputError) << key << " " << value;
  }
  for (const Ids& offsets :
       {Ids{0, 0, 2, 3}, {1, 1, 2, 2, 3}, {0, 2, 0, 2, 3}, {0, 0, 2, 2, 4}, {0, 0, -2, 2, 3}, {}}) {
    NamedTensors changed = tensors;
    changed[1].second = list(offsets);
    EXPECT_THROW(load(changed, metadata), InputError);
  }
  for (const size_t i : {size_t{0}, size_t{2}})
    for (const int32_t id : {-1, 9}) {
      NamedTensors changed = tensors;
      changed[i].second = list(i == 0 ? Ids{id} : Ids{8, id, 3});
      EXPECT_THROW(load(changed, metadata), InputError);
    }
  for (size_t i = 0; i < tensors.size(); ++i) {
    NamedTensors changed = tensors;
    changed[i].second = tensors[i].second.reshape({1, tensors[i].second.numel()});
    EXPECT_THROW(load(changed, metadata), InputError) << "another rank of " << changed[i].first;
    changed[i].second = Tensor::full(tensors[i].second.shape(), 0.0f);
    EXPECT_THROW(load(changed, metadata), InputError) << "another type of " << changed[i].first;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THROW(load(changed, metadata), InputError) << "without " << tensors[i].first;
  }
}

TEST(VocabularyKey, IsOfTheTokensInTheirOrder) {
  const TokenizerOptions options = {
      .type = TokenizerType::character, .vocabulary_size = 40, .character_coverage = 1};
  const Tokenizer a = Tokenizer::train({"abc abc ab a"}, options), b = Tokenizer::train({"abc cba cb c"}, options);
  EXPECT_EQ(vocabulary_key(a), vocabulary_key(Tokenizer::from_serialized(a.serialized())));
  EXPECT_EQ(a.size(), b.size());
  EXPECT_NE(vocabulary_key(a), vocabulary_key(b));
}

TEST(ShortlistCounts, RanksTranslationsByTheirAlignmentWeights) {
  ShortlistCounts counts(3, 10);
  // Token 7 is aligned to source tokens 1 and 2, 4 to 2; a weak link does not count.
  counts.add(Ids{1, 2}, Ids{7, 4}, Tensor::from(std::vector<float>{0.75f, 0.25f, 0.05f, 0.95f}, {2, 2}));
  counts.add(Ids{2}, Ids{9, 9, 7}, Tensor::from(std::vector<float>{0.25f, 0.25f, 0.25f}, {3, 1}));
  EXPECT_EQ(counts.likely_translations(0, 5), Ids{});
  EXPECT_EQ(counts.likely_translations(1, 5), Ids{7});
  EXPECT_EQ(counts.likely_translations(2, 5), (Ids{4, 7, 9}));  // 0.95; then 0.5 of both, by id
  EXPECT_EQ(counts.likely_translations(2, 1), Ids{4});
  EXPECT_EQ(counts.frequent(2), (Ids{7, 9}));
  EXPECT_EQ(counts.frequent(9), (Ids{7, 9, 4}));
  EXPECT_THROW(counts.add(Ids{3}, Ids{0}, Tensor::full({1, 1}, 1.0f)), Error);
  EXPECT_THROW(counts.add(Ids{1}, Ids{10}, Tensor::full({1, 1}, 1.0f)), Error);
  EXPECT_THROW(counts.add(Ids{1}, Ids{1}, Tensor::full({1, 2}, 1.0f)), Error);
  EXPECT_THROW(counts.likely_translations(3, 1), Error);
}

}  // namespace qkv::shortlist_test
