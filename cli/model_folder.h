// Reading the model that --model names. A folder without a model is an InputError that says how to make one:
//
//     qkv translate: --model nowhere is not a model folder: it does not exist; qkv train --model nowhere makes one
#pragma once

#include <string>

#include "qkv/decode/translator.h"

namespace qkv::cli {

Translator open_translator(const std::string& command, const std::string& folder);
TransformerConfig open_config(const std::string& command, const std::string& folder);

}  // namespace qkv::cli
