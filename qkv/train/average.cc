#include "qkv/train/average.h"

#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {

NamedTensors average_checkpoints(std::span<const std::filesystem::path> files) {
  require<UsageError>(!files.empty(), "average", "no checkpoints were given");
  std::vector<SafetensorsFile> open;
  for (const std::filesystem::path& path : files) open.push_back(SafetensorsFile::load(path));
  const std::vector<std::string> names = open.front().names();
  NamedTensors mean;
  for (const std::string& name : names) {
    std::vector<Tensor> values;
    for (size_t i = 0; i < open.size(); ++i) {
      values.push_back(i == 0 ? open[i].get(name) : open[i].get(name, values.front().shape()));
      require<InputError>(values.back().dtype() == DType::f32, "average", "{}: tensor '{}' must be f32, got {}",
                          files[i].string(), name, name_of(values.back().dtype()));
    }
    Tensor out = Tensor::empty(values.front().shape());
    std::span<float> to = out.span<float>();
    parallel_ranges(out.numel(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (const Tensor& value : values) sum += static_cast<double>(value.data<float>()[i]);
        to[static_cast<size_t>(i)] = static_cast<float>(sum / static_cast<double>(values.size()));
      }
    });
    mean.emplace_back(name, std::move(out));
  }
  for (size_t i = 1; i < open.size(); ++i)
    require<InputError>(open[i].names().size() == names.size(), "average", "{} has {} tensors, {} has {}",
                        files[i].string(), open[i].names().size(), files.front().string(), names.size());
  return mean;
}

}  // namespace qkv
