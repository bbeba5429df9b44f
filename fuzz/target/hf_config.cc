// config.json of Hugging Face, of any family: a configuration that is accepted can be described, and is the same after
// a round trip through our own config.json, and names its tensors.
#include "fuzz/folder.h"
#include "fuzz/input.h"
#include "qkv/base/file.h"
#include "qkv/model/describe.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/published/family/family.h"
#include "qkv/published/model_folder.h"

namespace {

using namespace qkv;

void check(const std::filesystem::path& folder) {
  const TransformerConfig config = open_model_folder(folder)->config().transformer();
  const std::string text = to_json(config);
  fuzz::expect(to_json(config_from_json(text, "again")) == text, "another configuration after JSON");
  fuzz::expect(!describe(config).empty(), "nothing to describe");
  const HfConfig hf(read_file(folder / "config.json"), "config.json");
  family_of(hf).tensors(hf, config);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Whatever the input begins with, the file is that.
  static const fuzz::FolderFile files[] = {{[](const std::filesystem::path&) {}, "config.json"}};
  const std::string input = "a" + std::string(fuzz::as_text(data, size));
  fuzz::with_one_file(files, reinterpret_cast<const uint8_t*>(input.data()), input.size(), [](const auto& folder) {
    fuzz::accepted([&] { check(folder); });
    fuzz::accepted([&] { translate_defaults(folder); });
    fuzz::accepted([&] { generate_defaults(folder); });
  });
  return 0;
}
