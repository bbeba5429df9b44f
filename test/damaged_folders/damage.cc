#include "test/damaged_folders/damage.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "test/damaged_folders/change.h"

namespace qkv::test {
namespace {

// The changes for a kind of file, the more often the more there is to understand.
using Changes = std::vector<Change>;

const Changes& changes_of(std::string_view name) {
  static const Changes any = {flip_bits,   flip_bits,       truncate,        insert_byte,      remove_range,
                              swap_ranges, duplicate_range, overwrite_range, change_early_byte};
  static const auto with = [](std::initializer_list<Change> special) {
    Changes all = any;
    for (int times = 0; times < 6; ++times) all.insert(all.end(), special);
    return all;
  };
  static const Changes of_tokenizer =
      with({change_tokenizer, change_tokenizer, change_tokenizer, change_json, change_json, replace_number});
  static const Changes of_json = with({change_json, change_json, change_json, replace_number, replace_number});
  static const Changes of_weights = with({change_header, change_header, replace_number});
  static const Changes of_archive = with({change_archive, change_archive, change_archive});
  static const Changes of_variables = with({change_variable, change_variable, change_variable, change_size});
  static const Changes of_pieces = with({change_pieces, change_pieces, change_pieces});
  static const Changes of_sizes = with({change_size, change_size});
  static const Changes of_text = with({change_line, change_line, replace_number});
  if (name == "tokenizer.json") return of_tokenizer;
  if (name == "model.bin") return of_variables;
  if (name.ends_with(".json")) return of_json;
  if (name.ends_with(".safetensors")) return of_weights;
  if (name.ends_with(".npz")) return of_archive;
  if (name.ends_with(".spm") || name.ends_with(".model")) return of_pieces;
  if (name.ends_with(".bin")) return of_sizes;
  return of_text;  // merges.txt, vocab.yml
}

std::string change_file(std::string& bytes, const Changes& changes, Random& random) {
  constexpr int tries = 20;
  for (int n = 0; n < tries; ++n)
    if (const std::string what = one_of(changes, random)(bytes, random); !what.empty()) return what;
  return "nothing to change";
}

std::string change_folder(Folder& folder, const std::string& name, Random& random) {
  const auto other = std::next(folder.begin(), static_cast<std::ptrdiff_t>(below(folder.size(), random)));
  switch (random.below(4)) {
    case 0: folder.erase(name); return "missing";
    case 1: folder[name].clear(); return "empty";
    case 2: folder[name] = std::string(other->second); return "a copy of " + other->first;
    default: std::swap(folder[name], other->second); return "swapped with " + other->first;
  }
}

std::string damage_once(Folder& folder, Random& random) {
  const auto chosen = std::next(folder.begin(), static_cast<std::ptrdiff_t>(below(folder.size(), random)));
  const std::string name = chosen->first;
  if (random.below(12) == 0) return name + ": " + change_folder(folder, name, random);
  return name + ": " + change_file(chosen->second, changes_of(name), random);
}

}  // namespace

std::string damage(Folder& folder, Random& random) {
  std::string what;
  for (uint64_t count = 1 + random.below(6) / 4 + random.below(6) / 5; count > 0 && !folder.empty(); --count)
    what += (what.empty() ? "" : "; ") + damage_once(folder, random);
  return what;
}

void remove_checksums(Folder& folder) {
  // In the header of a safetensors file keys and the sum are renamed, so that no length changes.
  for (auto& [name, bytes] : folder)
    for (const std::string key :
         {"\"qkv.checksum\":", "\"crc32:", "\"source.model\":", "\"target.model\":", "\"tokenizer.model\":"})
      if (const size_t at = bytes.find(key); at != bytes.npos && name.ends_with(".safetensors"))
        bytes[at + 1] = 'X';
  const auto config = folder.find("config.json");
  if (config == folder.end()) return;
  const size_t line = config->second.find("  \"checksum\": ");
  if (line != config->second.npos) config->second.erase(line, config->second.find('\n', line) + 1 - line);
}

}  // namespace qkv::test
