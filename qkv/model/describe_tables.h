// Numbers and tables of the summaries of models (describe.h) and layers (describe_layer.h).
//
//     table({{"part", "FLOPs"}, {"norm", flops(3072)}}, {false, true})          // columns as wide as their widest cell
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/layer/flop_count.h"
#include "qkv/layer/module.h"

namespace qkv {

inline constexpr size_t describe_columns = 100;

std::string with_commas(int64_t n);                // 1,048,576
std::string flops_text(double n);                  // three digits and a unit: 37.7 MFLOP
std::string bytes_text(double n);                  // 37.7 MB
std::string intensity_text(double flop_per_byte);  // 0.50, 37.7, 2,048

using TableRow = std::vector<std::string>;
// Columns of numbers are aligned to the right.
std::string table(const std::vector<TableRow>& rows, const std::vector<bool>& right);
// The text in lines of at most describe_columns, broken at spaces, each indented by `indent` spaces.
std::string wrapped(const std::string& text, size_t indent);

// A row of numbers for each group of parameters (layer/parameter_groups.h), and lines with its formula and shapes.
std::string parameter_table(const Module& module);
// FLOPs of a token, and FLOPs per byte in a batch of that many tokens, for each part and for all.
std::string flop_table(const std::string& title, const std::vector<FlopCount>& parts, int64_t tokens);

}  // namespace qkv
