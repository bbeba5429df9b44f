#include "qkv/text/corpus.h"

#include <filesystem>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/text/holdout.h"
#include "qkv/text/unicode.h"

namespace qkv {

namespace {

// The two files of a spec, the second one empty if it is a single file.
std::pair<std::string, std::string> files_of(const std::string& spec) {
  const size_t comma = spec.find(',');
  std::error_code ignored;
  if (comma == spec.npos || std::filesystem::exists(spec, ignored)) return {spec, ""};
  require<UsageError>(comma > 0 && comma + 1 < spec.size() && spec.find(',', comma + 1) == spec.npos, "corpus",
                      "'{}' is neither a file nor 'source-file,target-file'", spec);
  return {spec.substr(0, comma), spec.substr(comma + 1)};
}

}  // namespace

CorpusReader::CorpusReader(const std::string& spec, const CorpusOptions& options)
    : name_(spec), options_(options), first_(files_of(spec).first, options.lines) {
  const std::string second = files_of(spec).second;
  if (!second.empty()) second_.emplace(second, options.lines);
}

bool CorpusReader::next(SentencePair& pair) {
  while (read(pair)) {
    if (is_blank(pair.source) || is_blank(pair.target)) {
      ++blank_;
    } else if (options_.holdout && options_.holdout->contains(pair.source)) {
      ++held_out_;
    } else {
      ++pairs_;
      return true;
    }
  }
  if (pairs_ + held_out_ == 0)
    fail<InputError>(
        name_, "no sentence pairs: {}",
        blank_ == 0 ? "it is empty" : fmt::format("one side of each of its {} lines is blank", blank_));
  return false;
}

bool CorpusReader::read(SentencePair& pair) { return second_ ? read_two_lines(pair) : read_line(pair); }

bool CorpusReader::read_line(SentencePair& pair) {
  if (!first_.next(pair.source)) return false;
  const size_t tab = pair.source.find('\t');
  if (tab == pair.source.npos) {
    require<InputError>(is_blank(pair.source), first_.where(), "no tab, expected 'source TAB target'");
    pair.target.clear();
    return true;
  }
  const size_t end = pair.source.find('\t', tab + 1);
  pair.target.assign(pair.source, tab + 1, end == pair.source.npos ? end : end - tab - 1);
  pair.source.resize(tab);
  return true;
}

bool CorpusReader::read_two_lines(SentencePair& pair) {
  const bool source = first_.next(pair.source), target = second_->next(pair.target);
  if (source && target) return true;
  std::string rest;
  while (first_.next(rest) || second_->next(rest)) {
  }
  require<InputError>(source == target, name_, "{} has {} lines, but {} has {}", first_.name(), first_.number(),
                      second_->name(), second_->number());
  return false;
}

std::vector<SentencePair> read_corpus(const std::string& spec, const CorpusOptions& options) {
  std::vector<SentencePair> pairs;
  CorpusReader corpus(spec, options);
  for (SentencePair pair; corpus.next(pair);) pairs.push_back(pair);
  return pairs;
}

bool CorpusSentences::operator()(std::string& sentence) {
  if (target_is_next_) {
    target_is_next_ = false;
    sentence = pair_.target;
    return true;
  }
  if (!corpus_.next(pair_)) return false;
  sentence = side_ == Side::target ? pair_.target : pair_.source;
  target_is_next_ = side_ == Side::both;
  return true;
}

}  // namespace qkv
