#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/distinct_lines.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/shards.h"
#include "cli/text_input.h"
#include "cli/timings.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/npy.h"
#include "qkv/tensor/safetensors.h"

namespace qkv::cli {
namespace {

enum class VectorFormat { tsv, json, npy, safetensors };
constexpr auto names_of(VectorFormat) {
  return std::array{Named{VectorFormat::tsv, "tsv"}, Named{VectorFormat::json, "json"},
                    Named{VectorFormat::npy, "npy"}, Named{VectorFormat::safetensors, "safetensors"}};
}

struct EmbedCommand {
  std::string model, input = "-", output = "-";
  std::vector<std::string> texts;  // given as arguments
  InferenceOptions held;
  EmbedOptions options;
  VectorFormat format = VectorFormat::tsv;
  bool strict = false, quiet = false, show_timings = false;
  int threads = 0;
  Shards shards;

  int run() {
    if (threads > 0) set_threads(threads);
    require<UsageError>(format != VectorFormat::safetensors || output != "-", "qkv embed",
                        "--format safetensors needs --output FILE");
    require<UsageError>(is_text() || !shards.given(), "qkv embed",
                        "--shards needs --format tsv or json, a line for each vector, got {}", name_of(format));
    const std::unique_ptr<ResumableFile> shard = shards.open_output(
        {.command = "embed", .model = model, .input = texts.empty() ? input : "", .output = output});
    if (shard && shard->complete()) return shards.report_complete(output, quiet);
    Timings timings;
    const Embedder embedder = open_embedder("embed", model, held);
    timings.model_read();
    const std::string longer = too_long(embedder.model().config(), embedder.input_limit(options.max_input_tokens));
    LineReader lines =
        shard
            ? shards.open_lines(input, *shard)
            : open_lines({.command = "embed", .input = input, .given = texts, .what = "sentences", .quiet = quiet});
    const bool whole = format == VectorFormat::safetensors;  // written by save_safetensors() at the end
    LineJob job({.command = "embed",
                 .input = texts.empty() ? input : "",
                 .output = whole ? "-" : output,
                 .strict = strict,
                 .quiet = quiet,
                 .resumable = shard.get(),
                 .json_progress = shards.json_progress()});
    std::vector<float> all;  // of the formats that are written at the end
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      const DistinctLines<std::string> distinct(read);
      const Embeddings found = distinct.compute([&] {
        return timings.measure(
            [&] { return embedder.embed(distinct.items(), options, [&](int64_t done) { job.show(done); }); });
      });
      timings.add(found.tokens, 0);
      const auto C = static_cast<size_t>(embedder.vector_width(options));
      size_t good = 0;
      for (const ReadLine<std::string>& line : read) {
        if (line.bad) {
          if (is_text()) job.print("\n");
          if (!is_text()) all.insert(all.end(), C, 0.0f);
          continue;
        }
        const size_t index = distinct.index(good++);
        if (std::binary_search(found.truncated.begin(), found.truncated.end(), index))
          job.report("were too long", fmt::format("{}: {}; the rest was not read", line.where, longer));
        const std::span<const float> vector = found.vectors.span<float>().subspan(index * C, C);
        if (is_text()) job.print(line_of(vector));
        if (!is_text()) all.insert(all.end(), vector.begin(), vector.end());
      }
    };
    const int code = job.run([&] {
      job.answer<std::string>(lines, answer);
      if (format == VectorFormat::npy) {
        const int64_t columns = embedder.vector_width(options);
        job.print(npy_file(all, {std::ssize(all) / columns, columns}));
      }
    });
    const int64_t W = embedder.vector_width(options);
    if (code == 0 && whole) save_safetensors(output, {{"embeddings", Tensor::from(all, {std::ssize(all) / W, W})}});
    if (show_timings) timings.print();
    return code;
  }

 private:
  bool is_text() const { return format == VectorFormat::tsv || format == VectorFormat::json; }

  // The shortest numbers that are read as the same floats.
  std::string line_of(std::span<const float> vector) const {
    return format == VectorFormat::json ? fmt::format("[{}]\n", fmt::join(vector, ", "))
                                        : fmt::format("{}\n", fmt::join(vector, "\t"));
  }
};

}  // namespace

Command add_embed(App& parent) {
  App& app = *parent.add_subcommand("embed", "print a vector for every line of a text");
  const auto c = std::make_shared<EmbedCommand>();
  model_flag(app, c->model)->required();
  texts_argument(app, c->texts, "sentences to embed, instead of --input", "SENTENCE");
  app.group("Input and output");
  flag(app, "--input", c->input, "text, one sentence per line; plain, gzip or zstd; -: standard input", "FILE");
  flag(app, "--output", c->output, "a vector for each line, in the order of the input; -: standard output", "FILE");
  choice(app, "--format", c->format,
         "one line for each vector, numbers separated by tabs or a JSON array; or all vectors (lines, width) as a "
         "NumPy array, or as the tensor 'embeddings' of a safetensors file");
  decoding_flags(app, c->options);
  c->shards.add_flags(app);
  strict_flag(app, c->strict, "an empty line (in arrays, zeros)");
  quiet_flag(app, c->quiet);
  timings_flag(app, c->show_timings);
  weight_flags(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "npy and safetensors are kept in memory until the input ends.\n\n"
      "Examples:\n"
      "  qkv embed -m words -i sentences.txt --normalize --format npy -o vectors.npy\n"
      "  qkv embed -m words --format json \"I am cold.\" \"Go on.\"");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
