// training/options.json: options that are accepted are the same after a round trip through JSON.
#include "qkv/train/options.h"

#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace qkv;
  fuzz::accepted([&] {
    TrainOptions options = train_options_from_json(std::string(fuzz::as_text(data, size)), "options.json");
    const std::string text = to_json(options);
    fuzz::expect(to_json(train_options_from_json(text, "again")) == text, "other options after JSON");
    fuzz::expect(!difference(text, options, "again"), "options differ from themselves");
    options.model = "model";  // not stored: the file lies in it
    options.check();
  });
  return 0;
}
