#include "cli/shards.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/base/checksum.h"
#include "qkv/base/counted.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/version.h"

namespace qkv::cli {
namespace {

namespace fs = std::filesystem;

// Name, size, first and last megabyte: what a model that was trained again does not share with the one before.
std::string digest_of_file(const fs::path& path) {
  constexpr int64_t piece = 1 << 20;
  const RandomAccessFile file(path);
  std::string bytes(static_cast<size_t>(std::min(piece, file.size())), '\0');
  uint32_t sum = 0;
  for (const int64_t at : {int64_t{0}, file.size() - std::ssize(bytes)}) {
    file.read(at, std::as_writable_bytes(std::span(bytes)));
    sum = crc32(bytes, sum);
  }
  return fmt::format("{} {} {:08x}\n", path.filename().string(), file.size(), sum);
}

bool is_part_of_model(const fs::path& path) {
  const std::string name = path.filename().string();
  std::error_code error;
  return fs::is_regular_file(path, error) && !name.starts_with(".") && !name.ends_with(".md");
}

std::string digest_of_model(const std::string& model) {
  std::vector<fs::path> files = {model};
  std::error_code error;
  if (!file_exists(model)) throw FileError("read", model, ENOENT);
  if (!fs::is_regular_file(model, error)) {
    files = files_in(model);
    std::sort(files.begin(), files.end());
  }
  std::string all;
  for (const fs::path& file : files)
    if (is_part_of_model(file)) all += digest_of_file(file);
  return checksum_text(crc32(all));
}

// The flags that were given and change answers; of files their content.
Json flags_of(const App& app) {
  static constexpr std::array others = {"model",   "input",        "output",       "threads", "quiet",
                                        "timings", "batch-tokens", "config",       "shards",  "shard",
                                        "map",     "strict",       "json-progress"};
  Json flags = Json::object();
  for (const auto& [name, values] : app.given()) {
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    std::vector<std::string> shown;
    for (const std::string& value : values) {
      std::error_code error;
      const bool is_file = fs::is_regular_file(value, error);
      shown.push_back(is_file ? digest_of_file(value) : value);
    }
    flags.append(name, shown);
  }
  return flags;
}

}  // namespace

void Shards::add_flags(App& app) {
  app_ = &app;
  app.group("One process of several");
  flag(app, "--shards", shards_,
       "number of parts that the lines of --input FILE are cut into, of which one is answered into --output FILE. "
       "Run "
       "again after it was killed, the command continues; outputs one after another are that of the whole file. 1: "
       "all "
       "of it; 0: not in parts",
       "K");
  shard_flag_ = flag(app, "--shard", shard_, "which part, from 0", "I");
  flag(app, "--json-progress", json_progress_,
       "print a line of JSON on stderr at this interval: lines done, lines per second; 0: none", "SECONDS");
}

bool Shards::given() const { return shards_ != 0 || shard_flag_->count() > 0; }

void Shards::check(const ShardedCommand& command) const {
  const std::string where = "qkv " + command.command;
  require<UsageError>(shards_ != 0, where, "--shard needs --shards, the number of parts");
  check_shard(shard(), where);
  require<UsageError>(shards_ == 1 || shard_flag_->count() > 0, where, "--shards {} needs --shard 0 to {}", shards_,
                      shards_ - 1);
  require<UsageError>(!command.input.empty() && command.input != "-", where, "--shards needs --input FILE");
  require<UsageError>(command.output != "-", where, "--shards needs --output FILE, one for each part");
}

std::string Shards::key(const ShardedCommand& command) const {
  Json sizes = Json::array();
  for (const std::string& file : files_of_corpus(command.input)) sizes.push_back(RandomAccessFile(file).size());
  const Json key = {{"qkv", version()},        {"command", command.command},
                    {"shards", shards_},       {"shard", shard_},
                    {"input", sizes},          {"model", digest_of_model(command.model)},
                    {"flags", flags_of(*app_)}};
  return key.dump();
}

std::unique_ptr<ResumableFile> Shards::open_output(const ShardedCommand& command) const {
  require<UsageError>(std::isfinite(json_progress_) && json_progress_ >= 0, "qkv " + command.command,
                      "--json-progress must be 0 or more seconds, got {}", json_progress_);
  if (!given()) return nullptr;
  check(command);
  return std::make_unique<ResumableFile>(command.output, key(command));
}

int Shards::report_complete(const std::string& output, bool quiet) const {
  if (!quiet) say(fmt::format("{} is complete: an earlier run of this command wrote it", output));
  return 0;
}

LineReader Shards::open_lines(const std::string& input, const ResumableFile& file) const {
  const ShardedFile lines(input, shard(), file.lines());
  return {lines.open(), lines.name(), lines.line_options()};
}

CorpusReader Shards::open_pairs(const std::string& input, const ResumableFile& file) const {
  const std::vector<std::string> files = files_of_corpus(input);
  const ShardedFile first(files.front(), shard(), file.lines());
  const CorpusOptions options = {.every_line = true, .lines = first.line_options()};
  LineReader lines(first.open(), first.name(), options.lines);
  if (files.size() == 1) return {first.name(), std::move(lines), {}, options};
  const bool is_last = shard_ + 1 == shards_;  // it finds out that the second file has more lines
  LineRange range = first.range();
  if (is_last) range.count = LineRange().count;
  LineReader targets(open_line_range(files.back(), range), files.back(), options.lines);
  return {input, std::move(lines), std::move(targets), options};
}

}  // namespace qkv::cli
