// The corpora of a training: one, or several that are read one after another as if they were one.
//
//     TrainOptions options{.train = "pairs.tsv.gz"};
//     options.train = {"europarl.en,europarl.de", "news.tsv"};       // text/corpus.h says what a path is
//     to_string(options.train)                                       // "europarl.en,europarl.de and news.tsv"
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace qkv {

struct CorpusPaths {
  std::vector<std::string> list = {};

  CorpusPaths() = default;
  // NOLINTBEGIN: implicit, so that one corpus is given as its path
  CorpusPaths(const char* path) : CorpusPaths(std::string(path)) {}
  CorpusPaths(const std::filesystem::path& path) : CorpusPaths(path.string()) {}
  CorpusPaths(std::string path) {
    if (!path.empty()) list.push_back(std::move(path));
  }
  CorpusPaths(std::vector<std::string> paths) : list(std::move(paths)) {}
  CorpusPaths(std::initializer_list<std::string> paths) : list(paths) {}
  // NOLINTEND

  bool empty() const { return list.empty(); }
  friend bool operator==(const CorpusPaths&, const CorpusPaths&) = default;
};

std::string to_string(const CorpusPaths& paths);

}  // namespace qkv
