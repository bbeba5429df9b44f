// Where a command reads its lines from: texts given as arguments, a file, or standard input.
//
//     LineReader lines = open_lines({.command = "translate", .input = input, .given = sentences, .what = "sentences"});
//
// A person who types the lines is asked for them, on stderr. UsageError for a given text with a line break in it.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"
#include "qkv/text/lines.h"

namespace qkv::cli {

struct TextInput {
  std::string command;
  std::string input;                    // a file; "-": standard input
  std::vector<std::string> given = {};  // a line each, instead of the input
  std::string what = "texts";           // "sentences"
  bool quiet = false;
};

LineReader open_lines(const TextInput& input);

// The texts of a command as arguments: qkv translate --model FOLDER "I am cold." "Go on."
Option* texts_argument(App& app, std::vector<std::string>& texts, const std::string& help, const std::string& unit);

}  // namespace qkv::cli
