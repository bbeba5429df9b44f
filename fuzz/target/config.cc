// config.json: a configuration that is accepted is consistent, can be described, and is the same after a round trip
// through JSON.
#include "qkv/model/config.h"

#include "fuzz/input.h"
#include "qkv/model/describe.h"
#include "qkv/model/make_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace qkv;
  fuzz::accepted([&] {
    const ModelConfig config = config_from_json(fuzz::as_text(data, size), "config.json");
    const std::string text = to_json(config);
    fuzz::expect(to_json(config_from_json(text, "again")) == text, "another configuration after JSON");
    fuzz::expect(make_model(config)->parameter_count() > 0, "a count of parameters overflows");
    for (const auto& flops : {flops_per_source_token(config, {}), flops_per_target_token(config, {})})
      for (const FlopCount& count : flops) fuzz::expect(count.flops >= 0, "a count of operations overflows");
    fuzz::expect(!describe(config).empty(), "nothing to describe");
  });
  return 0;
}
