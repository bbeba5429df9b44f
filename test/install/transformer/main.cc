// A program that uses the Transformer from the installed package.
#include <cstdio>

#include "qkv/qkv.h"

static_assert(QKV_VERSION_MAJOR >= 0 && QKV_VERSION_MINOR >= 0 && QKV_VERSION_PATCH >= 0);

int main() {
  qkv::TransformerConfig config = qkv::recipe("transformer-tiny").transformer();
  config.source_vocabulary = config.target_vocabulary = 20;
  const qkv::Transformer model(config, 1);
  const qkv::Tensor source = qkv::Tensor::from(std::vector<int32_t>{5, 6, 2}, {1, 3});
  const auto answers = qkv::search(model, source, std::vector<int32_t>{3}, {.max_length = 4});
  if (answers.size() != 1 || answers[0].size() != 1) return 1;
  try {
    qkv::load_config("no such folder");
    return 1;
  } catch (const qkv::Error& error) {  // a type of the library, caught outside of it
    std::puts(fmt::format("transformer: qkv {} works; {}", qkv::version(), error.what()).c_str());
  }
}
