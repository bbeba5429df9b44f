// One or more reference lines for every hypothesis; their numbers are checked.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"

namespace qkv::metric {

class References {
 public:
  References(std::string_view op, size_t hypotheses, std::span<const std::string> lines) : streams_{lines} {
    check(op, hypotheses);
  }
  References(std::string_view op, size_t hypotheses, std::span<const std::vector<std::string>> streams)
      : streams_(streams.begin(), streams.end()) {
    check(op, hypotheses);
  }

  std::vector<std::string_view> of(size_t line) const {
    std::vector<std::string_view> all;
    for (const auto& stream : streams_) all.push_back(stream[line]);
    return all;
  }

 private:
  void check(std::string_view op, size_t hypotheses) const {
    require<InputError>(hypotheses > 0, op, "no hypotheses: a score needs at least one line");
    require<InputError>(!streams_.empty(), op, "no references: a score needs at least one for every hypothesis");
    for (const auto& stream : streams_)
      require<InputError>(stream.size() == hypotheses, op, "{} but {}: lines must match one to one",
                          counted(hypotheses, "hypothesis", "hypotheses"), counted(stream.size(), "reference"));
  }

  std::vector<std::span<const std::string>> streams_;
};

// The references of one sentence, as streams of one line.
inline std::vector<std::vector<std::string>> streams_of(const std::vector<std::string>& references) {
  std::vector<std::vector<std::string>> streams(references.size());
  for (size_t i = 0; i < streams.size(); ++i) streams[i] = {references[i]};
  return streams;
}

}  // namespace qkv::metric
