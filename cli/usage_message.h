// Errors about flags in the words of the command line. The library names a setting as its tables do (train/
// option_table.h): "heads 3 must divide d-model 128"; here the names become flags:
//
//     usage_message(error, command)      // qkv train: --heads 3 must divide --d-model 128
//
// A name counts as one when it is the first word, has a dash, stands in quotation marks, or precedes a number.
#pragma once

#include <string>
#include <string_view>

#include "qkv/base/file.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace qkv::cli {

// Whether it is a folder, or the name of a GGUF file, that may be missing: an argument that was meant for --model.
bool is_model_name(const std::string& given);

std::string usage_message(const UsageError& error, const CLI::App& command);

// The error preceded by the flag that names the file, if one does: "qkv train: --train: read: x.tsv: No such file".
std::string file_message(const FileError& error, const CLI::App& command);

// What is wrong with the model of the command: "qkv translate: --model my-model: the model computes ...".
std::string model_message(std::string_view what, const CLI::App& command);

// What CLI11 found wrong: a flag that is missing, lacks its value, or has a bad one.
std::string usage_message(const CLI::ParseError& error, const CLI::App& command);

}  // namespace qkv::cli
