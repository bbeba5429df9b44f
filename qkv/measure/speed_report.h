// What `qkv bench` prints: the limits of this machine, and what products and translations reach of them.
//
//     const SpeedReport report = measure_speed({.recipe = "transformer-tiny"});
//     std::string text = speed_tables(report);
//     std::string line = speed_json(report).dump();
//
// Errors: UsageError for an unknown recipe, or one that is not of a Transformer.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "qkv/measure/machine_speed.h"
#include "qkv/measure/product_speed.h"

namespace qkv {

class Json;

struct SpeedOptions {
  std::vector<WeightFormat> formats = {WeightFormat::f32,  WeightFormat::bf16, WeightFormat::int8,
                                       WeightFormat::q8_0, WeightFormat::q6_k, WeightFormat::q5_k,
                                       WeightFormat::q4_k, WeightFormat::q4_0};
  std::string recipe = "transformer-tiny";
  std::function<void(const std::string& what)> progress = {};  // called before each measurement
};

// Of translations with random weights, in target tokens a second: 64 sentences at a time or one, greedily or with 4 beams.
struct RecipeSpeed {
  WeightFormat format = {};
  double batch_1 = 0, batch_64 = 0, beam_4 = 0;
  double gflops = 0;  // of batch_64
};

struct SpeedReport {
  std::string instruction_set = {}, recipe = {};
  int threads = 0;
  MachineSpeed machine = {};
  std::vector<std::pair<WeightFormat, ProductSpeed>> products = {};
  std::vector<RecipeSpeed> translations = {};
};

SpeedReport measure_speed(const SpeedOptions& options);
std::string speed_tables(const SpeedReport& report);
Json speed_json(const SpeedReport& report);

}  // namespace qkv
