#include "cli/next_commands.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "qkv/base/file.h"

namespace qkv::cli {
namespace {

// What the model was validated on: in its folder, or given; empty: nothing.
std::string validation_file(const TrainOptions& options) {
  if (!options.valid.empty()) return options.valid;
  for (const char* name : {"held-out.tsv", "held-out.txt"})
    if (file_exists(options.model / name)) return (options.model / name).string();
  return "";
}

std::string use_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::causal: return "generate --prompt \"Once upon a time\" --model";
    case Architecture::masked: return "fill-mask --model";
    default: return "translate --model";
  }
}

// With a later end than the one that was reached.
std::string longer(const TrainOptions& options) {
  if (options.max_time.count() > 0) return " --max-time " + duration_text(2 * options.max_time);
  if (options.max_steps > 0) return fmt::format(" --max-steps {}", 2 * options.max_steps);
  return options.max_epochs > 0 ? fmt::format(" --max-epochs {}", 2 * options.max_epochs) : "";
}

}  // namespace

std::string shell_word(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("/._-+,=@%:").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> next_commands(const std::string& program, const TrainOptions& options) {
  const Architecture architecture = options.architecture.architecture();
  const bool text = is_language_model(architecture);
  const std::string model = shell_word(options.model.string()), data = validation_file(options);
  const std::string held =
      options.weights == WeightFormat::f32 ? "" : fmt::format(" --weights {}", name_of(options.weights));
  std::vector<std::string> lines = {fmt::format("{} {} {}{}", program, use_of(architecture), model, held)};
  if (architecture == Architecture::masked) lines[0] = "echo \"I am [MASK] today.\" | " + lines[0];
  if (data.ends_with("/held-out.tsv"))
    lines[0] = fmt::format("cut -f1 {} | head -3 | {}", shell_word(data), lines[0]);
  if (!data.empty())
    lines.push_back(fmt::format("{} {} --model {}{} --input {}", program, text ? "perplexity" : "evaluate", model,
                                held, shell_word(data)));
  lines.push_back(resume_command(program, options.model) + longer(options));
  lines.push_back(fmt::format("{} train --init {} --train {} --model adapted", program, model,
                              text ? "other-texts.txt" : "other-pairs.tsv"));
  return lines;
}

std::string resume_command(const std::string& program, const std::filesystem::path& model) {
  return fmt::format("{} train --model {} --resume", program, shell_word(model.string()));
}

}  // namespace qkv::cli
