// Speed of translating: sentences through a model with random weights, exactly `--tokens` target tokens each.
//
//     decode_bench --recipe base --weights int8 --batch 64 --beam 4
//     decode_bench --recipe tiny --vocabulary 8000 --source ids.txt --tokens 30 --beam 1 --batch 1 --threads 2 --json
//
// The source is a file with the token ids of a sentence in a line, or random: 512 sentences of 10 to 40 tokens. They are
// translated sorted by length, `batch` at a time. The first batch warms up; the fastest of `--repeat` rounds counts.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "qkv/base/names.h"
#include "qkv/base/peak_memory.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/instruction_set.h"
#include "qkv/measure/decoding_speed.h"
#include "qkv/model/transformer.h"

namespace {

using namespace qkv;
using Sentences = std::vector<std::vector<int32_t>>;

struct Settings {
  std::string recipe = "tiny", weights = "f32", cache = "f32", precision = "f32", source;
  int64_t vocabulary = 8000, tokens = 30, beam = 1, batch = 64, sentences = 512;
  int threads = 2, repeat = 3;
  bool json = false;
};

Sentences read_sentences(const std::string& path, int64_t vocabulary) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  Sentences out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<int32_t> ids;
    for (int64_t id = 0; words >> id;) {
      if (id < 0 || id >= vocabulary)
        throw std::runtime_error("id " + std::to_string(id) + " is not in the vocabulary");
      ids.push_back(static_cast<int32_t>(id));
    }
    if (!words.eof()) throw std::runtime_error("a line must be token ids, got: " + line);
    if (!ids.empty()) out.push_back(ids);
  }
  if (out.empty()) throw std::runtime_error("there are no sentences in " + path);
  return out;
}

// The peak of the packed weights and the search.
double resident_mb() { return static_cast<double>(peak_memory()) / (1024 * 1024); }

int run(int argc, char** argv) {
  Settings s;
  CLI::App app("Times the search of translations by a model with random weights.");
  app.add_option("--recipe", s.recipe, "size of the model")->check(CLI::IsMember({"tiny", "small", "base"}));
  app.add_option("--vocabulary", s.vocabulary)->check(CLI::Range(16, 1'000'000))->capture_default_str();
  app.add_option("--source", s.source, "file with the token ids of a sentence in a line; default: random");
  app.add_option("--sentences", s.sentences, "number of random ones")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tokens", s.tokens, "target tokens of each")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--beam", s.beam)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch", s.batch, "sentences at a time")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--weights", s.weights, "number format")->capture_default_str();
  app.add_option("--precision", s.precision, "numbers that products with f32 and bf16 weights are computed from")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--cache", s.cache, "number format of keys and values")->capture_default_str();
  app.add_option("--threads", s.threads)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--repeat", s.repeat, "rounds")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--json", s.json, "one line of JSON");
  CLI11_PARSE(app, argc, argv);

  const auto format = value_named<WeightFormat>(s.weights, "decode_bench", "--weights");
  set_threads(s.threads);
  const NoGrad guard;
  TransformerConfig config = recipe("transformer-" + s.recipe).transformer();
  config.source_vocabulary = config.target_vocabulary = s.vocabulary;
  Transformer model(config, 1);
  model.pack_for_inference(format, value_named<Precision>(s.precision, "decode_bench", "--precision"));
  model.set_cache_format(value_named<CacheFormat>(s.cache, "decode_bench", "--cache"));
  reset_peak_memory();  // the f32 weights that were drawn do not count: those of a file are mapped, and packed one by one
  const DecodingSpeed speed = measure_decoding(
      model,
      s.source.empty() ? random_sentences(s.sentences, s.vocabulary) : read_sentences(s.source, s.vocabulary),
      {.batch = s.batch, .beam = s.beam, .tokens = s.tokens, .rounds = s.repeat});
  if (s.json) {
    const nlohmann::ordered_json line = {{"recipe", s.recipe},
                                         {"vocabulary", s.vocabulary},
                                         {"weights", s.weights},
                                         {"cache", s.cache},
                                         {"precision", s.precision},
                                         {"beam", s.beam},
                                         {"batch", s.batch},
                                         {"threads", s.threads},
                                         {"instruction_set", instruction_set()},
                                         {"sentences", speed.sentences},
                                         {"tokens", s.tokens},
                                         {"ms", 1000 * speed.seconds},
                                         {"tokens_per_s", speed.tokens_per_s},
                                         {"resident_mb", resident_mb()}};
    std::cout << line.dump() << "\n";
  } else {
    std::cout << s.recipe << ", " << s.weights << ", beam " << s.beam << ", batch " << s.batch << ": "
              << static_cast<int64_t>(speed.tokens_per_s) << " tokens/s, " << static_cast<int64_t>(resident_mb())
              << " MB\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "decode_bench: " << e.what() << "\n";
    return 1;
  }
}
