#include "qkv/attention/mask/mask_mod.h"

#include "qkv/attention/mask/mapped.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

class MaskMod final : public internal::MappedMask {
 public:
  MaskMod(std::function<void(const Tile&, uint64_t*)> rule, const MaskModOptions& options)
      : MappedMask({.batch = options.per_batch, .head = options.per_head}),
        rule_(std::move(rule)),
        name_(options.name) {}

  std::string name() const override { return name_; }

 private:
  void evaluate(const Tile& tile, uint64_t* visible) const override { rule_(tile, visible); }

  std::function<void(const Tile&, uint64_t*)> rule_;
  std::string name_;
};

}  // namespace

MaskPtr tile_mask_mod(std::function<void(const Tile&, uint64_t*)> rule, const MaskModOptions& options) {
  require(static_cast<bool>(rule), "mask_mod", "the rule is empty");
  return std::make_shared<MaskMod>(std::move(rule), options);
}

}  // namespace qkv
