#include "test/faults/same_training.h"

#include "qkv/base/file.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/test_support/tensors.h"
#include "qkv/train/training_test.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::string bytes_at(const fs::path& path) { return fs::exists(path) ? read_file(path) : "none"; }

}  // namespace

std::string training_difference(const fs::path& a, const fs::path& b) {
  for (const char* name : {"config.json", "model.safetensors", "source.model", "target.model", "held-out.tsv"})
    if (bytes_at(a / name) != bytes_at(b / name)) return fmt::format("{} differs", name);
  const SafetensorsFile x = SafetensorsFile::load(a / "training" / "state.safetensors");
  const SafetensorsFile y = SafetensorsFile::load(b / "training" / "state.safetensors");
  if (x.names() != y.names()) return "the state has other tensors";
  for (const std::string& name : x.names())
    if (!test::same_bits(x.get(name), y.get(name))) return fmt::format("the state's {} differs", name);
  if (log_without_times(a) != log_without_times(b)) return "the log differs";
  return "";
}

}  // namespace qkv
