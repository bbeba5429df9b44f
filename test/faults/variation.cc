#include <algorithm>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "test/faults/command.h"
#include "test/faults/scenario.h"

namespace qkv {
namespace {

// The text with line `number`, from 1, replaced.
std::string with_line(const std::string& text, int number, const std::string& line) {
  size_t begin = 0;
  for (int i = 1; i < number; ++i) begin = text.find('\n', begin) + 1;
  return text.substr(0, begin) + line + text.substr(text.find('\n', begin));
}

std::string argument_after(const Arguments& command, std::initializer_list<const char*> flags) {
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (std::find(flags.begin(), flags.end(), command[i]) != flags.end()) return command[i + 1];
  return "";
}

void add_bad_corpora(const Scenario& s, const std::string& file, std::vector<Variation>& out) {
  const auto at = s.before.find(file);
  if (at == s.before.end()) return;
  const std::string& good = at->second;
  const int lines = static_cast<int>(std::count(good.begin(), good.end(), '\n'));
  const auto add = [&](const std::string& name, const std::string& bytes) {
    out.push_back({.name = fmt::format("{} {}", file, name), .files = {{file, bytes}}});
  };
  for (const int n : {1, 2, lines / 2, lines}) {
    const std::string where = fmt::format("in line {}", n);
    add("not UTF-8 " + where, with_line(good, n, "123\t\xff\xfe"));
    add("without a tab " + where, with_line(good, n, "123"));
    add("two tabs " + where, with_line(good, n, "1\t2\t3"));
    add("NUL " + where, with_line(good, n, std::string("1\0\t2", 4)));
    add("too long " + where, with_line(good, n, std::string(1'000'001, '1') + "\t2"));
    add("blank " + where, with_line(good, n, "\t"));
  }
  add("empty", "");
  add("of one line", good.substr(0, good.find('\n') + 1));
  add("half a line at the end", good.substr(0, good.size() - 4) + "\xe2\x82");
  add("cut gzip", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3\1\2\3", 13));
  std::string carriage_returns = good;
  std::replace(carriage_returns.begin(), carriage_returns.end(), '\n', '\r');
  add("CR only", carriage_returns);
  out.push_back({.name = file + " missing", .removed = {file}});
}

void add_damage(const Scenario& s, const std::string& file, std::vector<Variation>& out) {
  const auto at = s.before.find(file);
  if (at == s.before.end()) return;
  const std::string& good = at->second;
  std::string flipped = good;
  flipped[flipped.size() * 3 / 4] ^= 16;
  out.push_back({.name = file + " missing", .removed = {file}});
  out.push_back({.name = file + " empty", .files = {{file, ""}}});
  out.push_back({.name = file + " cut", .files = {{file, good.substr(0, good.size() / 2)}}});
  out.push_back({.name = file + " with a flipped bit", .files = {{file, flipped}}});
}

}  // namespace

std::vector<Variation> bad_inputs(const Scenario& s) {
  std::vector<Variation> all;
  const bool trains = s.command.front() == "train";
  std::string input = argument_after(s.command, {"--train", "--input"});
  if (s.resumes) input = "pairs.tsv";
  add_bad_corpora(s, input, all);
  if (!input.empty()) {
    const std::string flag = trains ? "--train" : "--input";
    for (const char* other : {"lines.txt", "other.tsv,lines.txt", "/dev/null", "-", "model", "no-such-file",
                              "model/model.safetensors", "other.tsv,", ","})
      all.push_back({.name = flag + " " + other, .arguments = {flag, other}});
  }
  if (trains)
    for (const char* other : {"lines.txt", "/dev/null", "-", "model", "no-such-file"})
      all.push_back({.name = fmt::format("--valid {}", other), .arguments = {"--valid", other}});
  for (const char* name : {"config.json", "model.safetensors", "source.model", "target.model", "held-out.tsv",
                           "training/options.json", "training/state.safetensors", "training/log.jsonl"})
    add_damage(s, fmt::format("model/{}", name), all);
  if (s.resumes) {
    all.push_back({.name = "--train other.tsv", .arguments = {"--train", "other.tsv"}});
    all.push_back({.name = "fewer steps, and no state",
                   .removed = {"model/training/state.safetensors"},
                   .arguments = {"--max-steps", "1"}});
    all.push_back({.name = "fewer steps", .arguments = {"--max-steps", "1"}});
    // A shortened log is continued from its end.
    for (Variation& variation : all) variation.exact = variation.name.find("log.jsonl") == std::string::npos;
  }
  return all;
}

std::vector<Variation> bad_options(const Scenario& s) {
  std::vector<Variation> all;
  const Outcome help = run_command({s.command.front(), "--help"}, {});
  std::istringstream lines(help.output);
  const std::regex flag("^ +(--[a-z0-9-]+)( [^ ]+)? ?.*");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, flag)) continue;
    const std::string name = match[1];
    if (name == "--accumulate") continue;  // a large value is valid, but a long training
    const auto add = [&](const Arguments& arguments) {
      all.push_back({.name = fmt::format("{}", fmt::join(arguments, " ")), .arguments = arguments});
    };
    if (!match[2].matched) {
      add({name});
      add({name + "=x"});
      continue;
    }
    for (const char* value : {"", "x", "-1", "0", "1", "8", "1.5", "nan", "1e30", "100000", "99999999999999999999"})
      if (name != "--steps" || value != std::string("100000")) add({name, value});  // valid, but slow
  }
  return all;
}

}  // namespace qkv
