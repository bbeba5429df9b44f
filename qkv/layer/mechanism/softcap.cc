#include "qkv/layer/mechanism/softcap.h"

#include "qkv/attention/modify/softcap.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

class SoftcapMechanism final : public MechanismOf<Softcap> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "softcap", .help = "scores become cap tanh(score / cap) (Gemma 2, 2024)", .role = Role::modify};
  }
  Fields fields() const override { return {{"cap", &Softcap::cap, 1e-3, 1e6}}; }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    options.modify.push_back(softcap(static_cast<float>(value.cap)));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Softcap& x) { return std::make_shared<SoftcapMechanism>(x); }

}  // namespace qkv
