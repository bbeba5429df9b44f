#include "qkv/measure/speed_report.h"

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/instruction_set.h"
#include "qkv/measure/decoding_speed.h"
#include "qkv/model/describe_tables.h"
#include "qkv/model/token_flops.h"

namespace qkv {
namespace {

constexpr int64_t vocabulary = 10'000, tokens = 30, mean_source = 26, sentences = 128;

// Of a translation of 30 tokens, for each of them.
double flops_of_token(const TransformerConfig& config) {
  const DescribeOptions lengths = {.source_length = mean_source, .target_length = tokens};
  const FlopCount source = sum_of(flops_per_source_token(config, lengths)),
                  target = sum_of(flops_per_target_token(config, lengths));
  return static_cast<double>(source.flops) * mean_source / tokens + static_cast<double>(target.flops);
}

RecipeSpeed measure_recipe(const TransformerConfig& config, WeightFormat format) {
  const Transformer model(config, 1);
  model.pack_for_inference(format);
  const auto rate = [&](int64_t batch, int64_t beam) {
    const int64_t count = batch == 1 ? sentences / 8 : sentences;
    const DecodingWork work = {.batch = batch, .beam = beam, .tokens = tokens, .rounds = 2};
    return measure_decoding(model, random_sentences(count, vocabulary), work).tokens_per_s;
  };
  RecipeSpeed speed = {.format = format, .batch_1 = rate(1, 1), .batch_64 = rate(64, 1), .beam_4 = rate(64, 4)};
  speed.gflops = 1e-9 * speed.batch_64 * flops_of_token(config);
  return speed;
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f}%", 100 * part / whole) : "-";
}

std::string gflops_text(double gflops) { return gflops > 0 ? fmt::format("{:.0f} GFLOP/s", gflops) : "none"; }

std::string text_of(WeightFormat format) { return std::string(name_of(format)); }

double bits_of_number(WeightFormat format) {
  const WeightBlock block = block_of(format);
  return 8.0 * block.bytes / block.numbers;
}

}  // namespace

SpeedReport measure_speed(const SpeedOptions& options) {
  ModelConfig config = recipe(options.recipe);
  require<UsageError>(!config.is_recurrent(), "bench", "recipe must be one of a Transformer, got {}",
                      options.recipe);
  config.set_vocabularies(vocabulary, vocabulary);
  const auto tell = [&](const std::string& what) {
    if (options.progress) options.progress(what);
  };
  SpeedReport report = {
      .instruction_set = std::string(instruction_set()), .recipe = options.recipe, .threads = threads()};
  tell("the machine");
  report.machine = measure_machine();
  for (const WeightFormat format : options.formats) {
    tell(fmt::format("products with weights in {}", name_of(format)));
    report.products.emplace_back(format, measure_products(format));
  }
  for (const WeightFormat format : options.formats) {
    tell(fmt::format("{} with weights in {}", options.recipe, name_of(format)));
    report.translations.push_back(measure_recipe(config.transformer(), format));
  }
  return report;
}

std::string speed_tables(const SpeedReport& report) {
  const MachineSpeed& machine = report.machine;
  std::string out =
      fmt::format("{}, {} threads: f32 {}, bf16 {}, int8 {}, fewer bits {}; memory {:.1f} GB/s\n\n",
                  report.instruction_set, report.threads, gflops_text(machine.f32), gflops_text(machine.bf16),
                  gflops_text(machine.int8), gflops_text(machine.narrow), machine.memory);
  std::vector<TableRow> rows = {
      {"Products", "bits", "one row: GB/s", "of memory", "many rows: GFLOP/s", "of the peak"}};
  for (const auto& [format, speed] : report.products)
    rows.push_back({text_of(format), fmt::format("{:.3g}", bits_of_number(format)),
                    fmt::format("{:.1f}", speed.gb_per_s), percent(speed.gb_per_s, machine.memory),
                    fmt::format("{:.0f}", speed.gflops), percent(speed.gflops, machine.gflops_of(format))});
  out += table(rows, {false, true, true, true, true, true}) + "\n";
  rows = {{"Target tokens/s of " + report.recipe, "batch 1", "batch 64", "batch 64, beam 4", "batch 64: GFLOP/s",
           "of the peak"}};
  for (const RecipeSpeed& speed : report.translations)
    rows.push_back({text_of(speed.format), with_commas(static_cast<int64_t>(speed.batch_1)),
                    with_commas(static_cast<int64_t>(speed.batch_64)),
                    with_commas(static_cast<int64_t>(speed.beam_4)), fmt::format("{:.0f}", speed.gflops),
                    percent(speed.gflops, machine.gflops_of(speed.format))});
  out += table(rows, {false, true, true, true, true, true});
  out += fmt::format(
      "\nRandom weights, a vocabulary of {}, translations of {} tokens. The peak is that of int8 or of\n"
      "numbers of fewer bits for quantised weights, else of f32.\n",
      with_commas(vocabulary), tokens);
  return out;
}

Json speed_json(const SpeedReport& report) {
  Json products = Json::array(), translations = Json::array();
  for (const auto& [format, speed] : report.products)
    products.push_back({{"weights", text_of(format)}, {"gb_per_s", speed.gb_per_s}, {"gflops", speed.gflops}});
  for (const RecipeSpeed& speed : report.translations)
    translations.push_back({{"weights", text_of(speed.format)},
                            {"batch_1", speed.batch_1},
                            {"batch_64", speed.batch_64},
                            {"batch_64_beam_4", speed.beam_4},
                            {"gflops", speed.gflops}});
  return {{"instruction_set", report.instruction_set},
          {"threads", report.threads},
          {"f32_gflops", report.machine.f32},
          {"bf16_gflops", report.machine.bf16},
          {"int8_gflops", report.machine.int8},
          {"narrow_gflops", report.machine.narrow},
          {"memory_gb_per_s", report.machine.memory},
          {"products", products},
          {"recipe", report.recipe},
          {"tokens_per_s", translations}};
}

}  // namespace qkv
