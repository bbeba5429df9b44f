// A NumPy archive: a zip file of stored entries, each an array with a header of text.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "test/damaged_folders/change.h"
#include "test/damaged_folders/little_endian.h"
#include "test/damaged_folders/tiny_folders.h"

namespace qkv::test {
namespace {

using Entries = std::map<std::string, std::string>;

// Nothing for an archive that is damaged or compressed.
std::optional<Entries> entries_of(std::string_view archive) {
  Entries entries;
  for (size_t at = archive.find("PK\1\2"); at != archive.npos; at = archive.find("PK\1\2", at + 4)) {
    if (at + 46 > archive.size()) return {};
    const auto method = number_at<uint16_t>(archive, at + 10);
    const size_t size = number_at<uint32_t>(archive, at + 24), local = number_at<uint32_t>(archive, at + 42);
    if (method != 0 || local + 30 > archive.size()) return {};
    const std::string name(archive.substr(at + 46, number_at<uint16_t>(archive, at + 28)));
    const size_t begin =
        local + 30 + number_at<uint16_t>(archive, local + 26) + number_at<uint16_t>(archive, local + 28);
    if (begin + size > archive.size()) return {};
    entries[name] = archive.substr(begin, size);
  }
  if (entries.empty()) return {};
  return entries;
}

// The text of a header is what makes an array of bytes; that of special:model.yml are the settings.
std::string change_header_text(std::string& array, Random& random) {
  constexpr size_t begin = 10, longest = 600;
  if (array.size() <= begin) return "";
  std::string text = array.substr(begin, longest);
  std::string what;
  if (random.below(2) == 0) {
    what = replace_number(text, random);
  } else {
    const size_t at = below(std::min<size_t>(text.size(), 100), random);
    text[at] = one_of(std::array{'0', '1', '2', '3', '9', '-', ' ', ',', '(', '<', '>', 'f', 'i', 'T'}, random);
    what = fmt::format("byte {} of the header is '{}'", at, text[at]);
  }
  // Without a change of the length, which the array begins with.
  text.resize(std::min(longest, array.size() - begin), ' ');
  array.replace(begin, text.size(), text);
  return what;
}

std::string change_entries(Entries& entries, const std::string& name, Random& random) {
  const std::string other = std::next(entries.begin(), static_cast<int64_t>(below(entries.size(), random)))->first;
  switch (random.below(4)) {
    case 0: entries.erase(name); return "removed";
    case 1: entries[name] = std::string(entries[other]); return "a copy of " + other;
    case 2: entries[name + "x"] = std::string(entries[name]); return "once more under another name";
    default: std::swap(entries[name], entries[other]); return "swapped with " + other;
  }
}

}  // namespace

std::string change_archive(std::string& bytes, Random& random) {
  auto entries = entries_of(bytes);
  if (!entries) return "";
  const bool settings = entries->contains("special:model.yml.npy") && random.below(3) == 0;
  const std::string name =
      settings ? "special:model.yml.npy"
               : std::next(entries->begin(), static_cast<int64_t>(below(entries->size(), random)))->first;
  std::string what;
  if (settings && random.below(2) == 0) {
    what = change_line((*entries)[name], random);
  } else if (random.below(3) == 0) {
    what = change_entries(*entries, name, random);
  } else {
    what = change_header_text((*entries)[name], random);
  }
  if (what.empty()) return "";
  bytes = zip_of(*entries);
  return name + ": " + what;
}

}  // namespace qkv::test
