#include "qkv/decode/shortlist.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "qkv/base/checksum.h"
#include "qkv/base/error.h"
#include "qkv/base/sort_unique.h"
#include "qkv/decode/candidate_tokens.h"
#include "qkv/tensor/safetensors.h"

namespace qkv {
namespace {

constexpr const char* version_key = "qkv.shortlist";
constexpr const char* file_version = "1";
constexpr int64_t max_count = std::numeric_limits<int32_t>::max();

// Empty: the file has none of that name.
std::string metadata_of(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

VocabularyKey read_key(const SafetensorsFile& file, const std::string& side, const std::string& path) {
  const std::string size = metadata_of(file, side + ".size");
  VocabularyKey key = {.checksum = metadata_of(file, side + ".checksum")};
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), key.size);
  require<InputError>(error == std::errc() && end == size.data() + size.size() && key.size >= 1 &&
                          key.size < max_count && !key.checksum.empty(),
                      path, "a shortlist must have the size and the checksum of the {} vocabulary, got {} and {}",
                      side, quoted_name(size), quoted_name(key.checksum));
  return key;
}

// An i32 tensor (N).
std::vector<int32_t> read_list(const SafetensorsFile& file, const char* name, const std::string& path) {
  require<InputError>(file.has(name), path, "a shortlist must have a tensor {}", name);
  const Tensor list = file.get(name);
  require<InputError>(list.rank() == 1 && list.dtype() == DType::i32, path, "{} must be i32 (N), got {} {}", name,
                      name_of(list.dtype()), list.shape());
  const std::span<const int32_t> ids = list.span<int32_t>();
  return {ids.begin(), ids.end()};
}

void check_candidate_ids(const std::vector<int32_t>& ids, int64_t size, const std::string& where) {
  for (const int32_t id : ids)
    require<InputError>(id >= 0 && id < size, where,
                        "a candidate must be an id of the target vocabulary of {}, got {}", size, id);
}

Tensor list_of(const std::vector<int32_t>& ids) { return Tensor::from(ids, {std::ssize(ids)}); }

}  // namespace

VocabularyKey vocabulary_key(const Tokenizer& tokenizer) {
  uint32_t sum = 0;
  for (int32_t id = 0; id < tokenizer.token_count(); ++id) {
    const std::string& token = tokenizer.token(id);
    sum = crc32(fmt::format("{} ", token.size()), sum);  // so that no two lists of tokens are the same bytes
    sum = crc32(token, sum);
  }
  return {.size = tokenizer.size(), .checksum = fmt::format("{:08x}", sum)};
}

Shortlist::Shortlist(ShortlistTable table) : table_(std::move(table)) {
  require<InputError>(std::ssize(table_.translations) == table_.source.size, "Shortlist",
                      "there must be a list for each of {} source tokens, got {}", table_.source.size,
                      table_.translations.size());
  check_candidate_ids(table_.frequent, table_.target.size, "Shortlist");
  for (const std::vector<int32_t>& ids : table_.translations)
    check_candidate_ids(ids, table_.target.size, "Shortlist");
  require<InputError>(translation_count() <= max_count, "Shortlist", "{} translations are more than {}",
                      translation_count(), max_count);
}

Shortlist Shortlist::load(const std::filesystem::path& path) {
  const std::string name = path.string();
  const SafetensorsFile file = SafetensorsFile::load(path);
  const std::string found = metadata_of(file, version_key);
  require<InputError>(!found.empty(), name, "this is not a shortlist: qkv shortlist makes one");
  require<InputError>(found == file_version, name, "the shortlist has version {}, this program reads version {}",
                      quoted_name(found), file_version);
  ShortlistTable table = {.source = read_key(file, "source", name), .target = read_key(file, "target", name)};
  table.frequent = read_list(file, "frequent", name);
  const std::vector<int32_t> offsets = read_list(file, "offsets", name),
                             ids = read_list(file, "translations", name);
  require<InputError>(std::ssize(offsets) == table.source.size + 1 && offsets.front() == 0 &&
                          offsets.back() == std::ssize(ids) && std::is_sorted(offsets.begin(), offsets.end()),
                      name, "offsets must be {}, from 0 up to the {} translations", table.source.size + 1,
                      ids.size());
  check_candidate_ids(table.frequent, table.target.size, name);
  check_candidate_ids(ids, table.target.size, name);
  for (size_t s = 0; s + 1 < offsets.size(); ++s)
    table.translations.emplace_back(ids.begin() + offsets[s], ids.begin() + offsets[s + 1]);
  return Shortlist(std::move(table));
}

void Shortlist::save(const std::filesystem::path& path) const {
  std::vector<int32_t> offsets = {0}, ids;
  for (const std::vector<int32_t>& list : table_.translations) {
    ids.insert(ids.end(), list.begin(), list.end());
    offsets.push_back(static_cast<int32_t>(ids.size()));
  }
  save_safetensors(
      path, {{"frequent", list_of(table_.frequent)}, {"offsets", list_of(offsets)}, {"translations", list_of(ids)}},
      {{version_key, file_version},
       {"source.size", fmt::format("{}", table_.source.size)},
       {"source.checksum", table_.source.checksum},
       {"target.size", fmt::format("{}", table_.target.size)},
       {"target.checksum", table_.target.checksum}});
}

std::vector<int32_t> Shortlist::candidates(std::span<const int32_t> source) const {
  std::vector<int32_t> ids = table_.frequent;
  for (const int32_t token : source) {
    require(token >= 0 && token < table_.source.size, "Shortlist",
            "a source token must be an id of the vocabulary of {}, got {}", table_.source.size, token);
    const std::vector<int32_t>& translations = table_.translations[static_cast<size_t>(token)];
    ids.insert(ids.end(), translations.begin(), translations.end());
  }
  sort_unique(ids);
  return ids;
}

int64_t Shortlist::translation_count() const {
  int64_t count = 0;
  for (const std::vector<int32_t>& ids : table_.translations) count += std::ssize(ids);
  return count;
}

void Shortlist::check_vocabularies(const VocabularyKey& source, const VocabularyKey& target,
                                   const std::string& file) const {
  for (const auto& [side, own, expected] :
       {std::tuple("source", &table_.source, &source), std::tuple("target", &table_.target, &target)})
    require<InputError>(
        *own == *expected, file,
        "this shortlist is of another model: its {} vocabulary has {} tokens and checksum {}, that of "
        "the model {} and {}",
        side, own->size, own->checksum, expected->size, expected->checksum);
}

}  // namespace qkv
