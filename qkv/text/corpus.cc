#include "qkv/text/corpus.h"

#include <filesystem>
#include <utility>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/text/holdout.h"
#include "qkv/text/unicode.h"

namespace qkv {

namespace {

// Like next(), but with the error of a bad line in `error`, unless one is there already.
bool next_or_error(LineReader& lines, std::string& line, std::optional<LineError>& error) {
  try {
    return lines.next(line);
  } catch (const LineError& e) {
    if (!error) error = e;
    return true;
  }
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (size_t tab = 0; tab != line.npos; line.remove_prefix(tab == line.npos ? 0 : tab + 1)) {
    tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
  }
  return columns;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.find_first_not_of("0123456789.") == text.npos;
}

int64_t count_lines(LineReader& lines) {
  std::string line;
  std::optional<LineError> ignored;
  while (next_or_error(lines, line, ignored)) {
  }
  return lines.number();
}

}  // namespace

std::vector<std::string> files_of_corpus(const std::string& spec) {
  const size_t comma = spec.find(',');
  std::error_code ignored;
  if (comma == spec.npos || std::filesystem::exists(spec, ignored)) return {spec};
  require<UsageError>(comma > 0 && comma + 1 < spec.size() && spec.find(',', comma + 1) == spec.npos, "corpus",
                      "'{}' is neither a file nor 'source-file,target-file'", spec);
  std::vector<std::string> files = {spec.substr(0, comma), spec.substr(comma + 1)};
  check_distinct_streams(files[0], files[1]);
  return files;
}

// All files are opened together: one program may write to several pipes in turn.
Corpus::Corpus(const CorpusPaths& paths, CorpusKind kind) : name_(to_string(paths)), kind_(kind) {
  require<UsageError>(!paths.empty(), "corpus", "the path of a corpus is required");
  std::vector<std::string> all;
  std::vector<size_t> ends;
  for (const std::string& path : paths.list) {
    const std::vector<std::string> files = kind == CorpusKind::text ? std::vector{path} : files_of_corpus(path);
    all.insert(all.end(), files.begin(), files.end());
    ends.push_back(all.size());
  }
  const std::vector<RepeatableFile> opened = open_repeatable(all);
  auto next = opened.begin();
  for (size_t i = 0; i < ends.size(); ++i) {
    const auto end = opened.begin() + static_cast<std::ptrdiff_t>(ends[i]);
    parts_.push_back({paths.list[i], {next, end}});
    next = end;
  }
}

CorpusReader::CorpusReader(const std::string& spec, const CorpusOptions& options)
    : name_(spec), options_(options), first_(files_of_corpus(spec).front(), options.lines) {
  if (const std::vector<std::string> files = files_of_corpus(spec); files.size() == 2)
    second_.emplace(files.back(), options.lines);
}

CorpusReader::CorpusReader(const Corpus& corpus, const CorpusOptions& options)
    : name_(corpus.parts_.front().name),
      kind_(corpus.kind()),
      options_(options),
      first_(corpus.parts_.front().files.front().open(), corpus.parts_.front().files.front().name(), options.lines),
      rest_(corpus.parts_.begin() + 1, corpus.parts_.end()) {
  const std::vector<RepeatableFile>& files = corpus.parts_.front().files;
  if (files.size() == 2) second_.emplace(files.back().open(), files.back().name(), options.lines);
}

CorpusReader::CorpusReader(const std::string& name, LineReader first, std::optional<LineReader> second,
                           const CorpusOptions& options)
    : name_(name), options_(options), first_(std::move(first)), second_(std::move(second)) {}

void CorpusReader::open(const Corpus::Part& part) {
  name_ = part.name;
  first_ = LineReader(part.files.front().open(), part.files.front().name(), options_.lines);
  second_.reset();
  if (part.files.size() == 2) second_.emplace(part.files.back().open(), part.files.back().name(), options_.lines);
  numbered_ = tabbed_ = 0;
  before_ = pairs_ + held_out_;
  blank_before_ = blank_;
}

bool CorpusReader::next(SentencePair& pair) {
  const bool text = kind_ == CorpusKind::text;
  while (read(pair)) {
    if (!options_.every_line && (is_blank(pair.source) || (!text && is_blank(pair.target)))) {
      ++blank_;
    } else if (options_.holdout && options_.holdout->contains(pair.source)) {
      ++held_out_;
    } else {
      ++pairs_;
      return true;
    }
  }
  return false;
}

void CorpusReader::check_not_empty() const {
  if (pairs_ + held_out_ > before_ || options_.every_line) return;
  const bool text = kind_ == CorpusKind::text;
  const int64_t blank = blank_ - blank_before_;
  const std::string lines = blank == 1 ? "its only line" : fmt::format("each of its {} lines", blank);
  fail<InputError>(name_, "no {}: {}", text ? "text" : "sentence pairs",
                   blank == 0 ? "it is empty"
                   : text     ? lines + " is blank"
                              : "one side of " + lines + " is blank");
}

bool CorpusReader::ready() { return first_.ready() && (!second_ || second_->ready()); }

bool CorpusReader::read(SentencePair& pair) {
  const auto read_here = [&] {
    if (kind_ == CorpusKind::pairs) return second_ ? read_two_lines(pair) : read_line(pair);
    pair.target.clear();
    return first_.next(pair.source);
  };
  while (!read_here()) {
    check_not_empty();
    if (rest_.empty()) return false;
    open(rest_.front());
    rest_.pop_front();
  }
  return true;
}

bool CorpusReader::read_line(SentencePair& pair) {
  if (!first_.next(pair.source)) return false;
  const size_t tab = pair.source.find('\t');
  if (tab == pair.source.npos) {
    require<NoTabError>(is_blank(pair.source), first_.where(), "no tab, expected 'source TAB target'");
    pair.target.clear();
    return true;
  }
  check_columns(pair.source);
  const size_t end = pair.source.find('\t', tab + 1);
  pair.target.assign(pair.source, tab + 1, end == pair.source.npos ? end : end - tab - 1);
  pair.source.resize(tab);
  return true;
}

// Three lines in a row are enough to be sure: one may be a sentence that is a number.
void CorpusReader::check_columns(const std::string& line) {
  constexpr int64_t enough = 3;
  if (options_.lines.is_part || numbered_ + 1 != first_.number() || numbered_ >= enough) return;
  const std::vector<std::string_view> columns = columns_of(line);
  if (columns.size() < 3 || !is_number(columns[0])) return;
  if (++numbered_ < enough) return;
  const bool both = columns.size() > 3 && is_number(columns[2]);  // tatoeba.org: id, sentence, id, translation
  fail<InputError>(
      first_.name(),
      "column 1 is a number in every line ({}), expected 'source TAB target'; choose the columns of the "
      "sentences: cut -f {} {} > pairs.tsv",
      one_line(columns[0]), both ? "2,4" : "2,3", first_.name());
}

bool CorpusReader::read_two_lines(SentencePair& pair) {
  std::optional<LineError> error;  // thrown after both files have advanced by a line
  const bool source = next_or_error(first_, pair.source, error);
  const bool target = next_or_error(*second_, pair.target, error);
  if (source != target)
    fail<InputError>(name_, "{} has {}, but {} has {}", first_.name(), counted(count_lines(first_), "line"),
                     second_->name(), count_lines(*second_));
  if (error) throw *error;
  if (source) check_sides(pair);
  return source;
}

// Two corpora of pairs in one spec would be trained on as the two sides of one.
void CorpusReader::check_sides(const SentencePair& pair) {
  constexpr int64_t enough = 3;
  if (options_.lines.is_part || tabbed_ + 1 != first_.number() || tabbed_ >= enough) return;
  if (pair.source.find('\t') == pair.source.npos || pair.target.find('\t') == pair.target.npos) return;
  if (++tabbed_ < enough) return;
  fail<InputError>(name_,
                   "every line of both files has a tab, expected a sentence per line; if they are two corpora of "
                   "'source TAB target', give each by itself, as with --train {} --train {}",
                   first_.name(), second_->name());
}

std::vector<SentencePair> read_corpus(const Corpus& corpus, const CorpusOptions& options) {
  std::vector<SentencePair> pairs;
  CorpusReader reader(corpus, options);
  for (SentencePair pair; reader.next(pair);) pairs.push_back(pair);
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
