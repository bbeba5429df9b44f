#include "qkv/interpret/weights_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <zip.h>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/interpret/rollout.h"
#include "qkv/pipeline/npy.h"

namespace qkv {
namespace {

// An archive in memory. Its entries have no time of their own, so that the same arrays give the same bytes.
class Archive {
 public:
  Archive() : source_(zip_source_buffer_create(nullptr, 0, 0, nullptr)) {
    if (source_) zip_ = zip_open_from_source(source_, ZIP_TRUNCATE, nullptr);
    if (!zip_) zip_source_free(source_);
    check(zip_ != nullptr);
    zip_source_keep(source_);
  }
  ~Archive() {
    if (zip_) zip_discard(zip_);
    zip_source_free(source_);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void add(const std::string& name, std::string bytes) {
    const std::string& kept = *entries_.emplace_back(std::make_unique<std::string>(std::move(bytes)));
    zip_source_t* const source = zip_source_buffer(zip_, kept.data(), kept.size(), 0);
    const int64_t at = source ? zip_file_add(zip_, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (at < 0 && source) zip_source_free(source);
    check(at >= 0);
    const auto index = static_cast<uint64_t>(at);
    check(zip_set_file_compression(zip_, index, ZIP_CM_STORE, 0) == 0 &&
          zip_file_set_dostime(zip_, index, 0, first_day, 0) == 0);
  }

  std::string bytes() {
    check(zip_close(zip_) == 0);
    zip_ = nullptr;
    zip_stat_t stat;
    check(zip_source_open(source_) == 0 && zip_source_stat(source_, &stat) == 0);
    std::string all(stat.size, '\0');
    const int64_t read = zip_source_read(source_, all.data(), all.size());
    zip_source_close(source_);
    check(read == std::ssize(all));
    return all;
  }

 private:
  static constexpr uint16_t first_day = 33;  // 1980-01-01, the first that a ZIP file can name

  void check(bool ok) const {
    if (ok) return;
    fail("save_weights", "libzip: {}", zip_ ? zip_strerror(zip_) : "cannot write an archive in memory");
  }

  zip_source_t* source_;
  zip_t* zip_ = nullptr;
  std::vector<std::unique_ptr<std::string>> entries_;  // read when the archive is closed
};

std::string npy_file_of(const Tensor& tensor) {
  const Tensor numbers = tensor.contiguous_copy();
  return npy_file(numbers.span<float>(), numbers.shape());
}

std::string archive_of(const Inspection& inspection, bool rollout) {
  Archive archive;
  for (const AttentionMaps& maps : inspection.attention) {
    const std::string use(name_of(maps.use));
    for (size_t layer = 0; layer < maps.layers.size(); ++layer)
      archive.add(fmt::format("{}.{}", use, layer), npy_file_of(maps.layers[layer]));
    archive.add(use + ".rows", npy_file(maps.rows));
    archive.add(use + ".columns", npy_file(maps.columns));
    if (rollout && maps.use != AttentionUse::cross)
      archive.add(use + ".rollout", npy_file_of(attention_rollout(maps.layers)));
  }
  return archive.bytes();
}

// The layers, (N,H,T,S).
std::string array_of(const AttentionMaps& maps) {
  std::vector<float> numbers;
  for (const Tensor& layer : maps.layers) {
    const Tensor weights = layer.contiguous_copy();
    numbers.insert(numbers.end(), weights.span<float>().begin(), weights.span<float>().end());
  }
  const Shape& one = maps.layers.front().shape();
  return npy_file(numbers, {std::ssize(maps.layers), one.dim(0), one.dim(1), one.dim(2)});
}

}  // namespace

bool is_weights_file(const std::filesystem::path& path) {
  return path.extension() == ".npz" || path.extension() == ".npy";
}

void save_weights(const Inspection& inspection, const std::filesystem::path& path,
                  const SaveWeightsOptions& options) {
  require<UsageError>(is_weights_file(path), "save_weights", "{} must end in .npz or .npy",
                      quoted_name(path.string()));
  if (path.extension() == ".npz") return write_file(path, archive_of(inspection, options.rollout));
  const std::vector<AttentionMaps>& all = inspection.attention;
  const AttentionUse use = options.use.value_or(all.back().use);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const AttentionMaps& maps) { return maps.use == use; });
  require<UsageError>(found != all.end(), "save_weights", "the model has no attention '{}'", name_of(use));
  write_file(path, array_of(*found));
}

}  // namespace qkv
