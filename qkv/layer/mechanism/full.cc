#include "qkv/layer/mechanism/full.h"

#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

class FullMechanism final : public MechanismOf<Full> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "full",
            .help =
                "scaled dot product and softmax over all keys, without other mechanisms: the default "
                "(Vaswani et al., 2017)",
            .role = Role::full};
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Full& full) { return std::make_shared<FullMechanism>(full); }

}  // namespace qkv
