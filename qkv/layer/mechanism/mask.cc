#include "qkv/layer/mechanism/mask.h"

#include <numeric>

#include <fmt/format.h>

#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/first_keys.h"
#include "qkv/attention/mask/global_tokens.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/layer/mechanism/global_tokens.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

constexpr double max_globals = 1 << 20;
constexpr bool required = true;

std::vector<int64_t> first(int64_t count) {
  std::vector<int64_t> positions(static_cast<size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

void add(AttentionOptions& options, const MaskPtr& mask) { options.mask = options.mask & mask; }

class WindowMechanism final : public MechanismOf<SlidingWindow> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {
        .name = "window",
        .help = "sliding window: keys within RADIUS positions of the query on both sides (Beltagy et al., 2020)",
        .role = Role::mask,
        .in_cross = false};
  }
  Fields fields() const override { return {{"radius", &SlidingWindow::radius, 0, max_distance, required}}; }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    add(options, window(value.radius));
  }
};

class DilatedMechanism final : public MechanismOf<Dilated> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "dilated",
            .help = "dilated window: every DILATION-th key, RADIUS of them on both sides (Beltagy et al., 2020)",
            .role = Role::mask,
            .in_cross = false};
  }
  Fields fields() const override {
    return {{"radius", &Dilated::radius, 0, max_globals - 1, required},
            {"dilation", &Dilated::dilation, 1, max_globals - 1, required}};
  }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    add(options, dilated(value.radius, value.dilation));
  }
};

class StridedMechanism final : public MechanismOf<Strided> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "strided",
            .help = "strided pattern: keys nearer than STRIDE, and every STRIDE-th key (Child et al., 2019)",
            .role = Role::mask,
            .in_cross = false};
  }
  Fields fields() const override { return {{"stride", &Strided::stride, 1, max_distance, required}}; }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    add(options, window(value.stride - 1) | every(value.stride));
  }
};

class LongformerMechanism final : public MechanismOf<Longformer> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "longformer",
            .help =
                "sliding window of RADIUS positions on both sides, and GLOBALS first positions that see all and "
                "are seen by all (Beltagy et al., 2020)",
            .role = Role::mask,
            .in_cross = false};
  }
  Fields fields() const override {
    return {{"radius", &Longformer::radius, 0, max_distance, required},
            {"globals", &Longformer::globals, 0, max_globals, required}};
  }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    add(options, longformer(value.radius, first(value.globals)));
  }
  void add_to_call(AttentionOptions& options, const AttentionPart&,
                   const AttentionCallContext& context) const override {
    if (const Tensor tokens = global_tokens_of(context.pass); tokens.defined())
      options.mask = options.mask | global_tokens(tokens);
  }
};

class BigBirdMechanism final : public MechanismOf<BigBird> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "bigbird",
            .help =
                "BigBird, in blocks of BLOCK positions: a window, GLOBALS first blocks and RANDOM random blocks "
                "(Zaheer et al., 2020)",
            .role = Role::mask,
            .in_cross = false};
  }
  Fields fields() const override {
    return {{"block", &BigBird::block, 1, max_distance},
            {"window", &BigBird::window, 1, 1023},
            {"globals", &BigBird::globals, 0, 1024},
            {"random", &BigBird::random, 0, 1024}};
  }
  std::string error(const AttentionSize&) const override {
    if (value.window % 2 == 1) return "";
    return fmt::format("window must be an odd number of blocks, got {}", value.window);
  }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    add(options, bigbird({.block = value.block,
                          .window_blocks = value.window,
                          .global_blocks = first(value.globals),
                          .random_blocks = value.random}));
  }
};

class PrefixMechanism final : public MechanismOf<Prefix> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "prefix",
            .help =
                "the first COUNT keys stay visible whatever the other masks of the variant are: "
                "window=64+prefix=4; a decoder stays causal",
            .role = Role::prefix,
            .in_cross = false};
  }
  Fields fields() const override { return {{"count", &Prefix::count, 1, max_globals, required}}; }
  void add_to(AttentionOptions& options, const AttentionPart&) const override {
    options.mask = options.mask | first_keys(value.count);
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const SlidingWindow& x) { return std::make_shared<WindowMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Dilated& x) { return std::make_shared<DilatedMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Strided& x) { return std::make_shared<StridedMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Longformer& x) { return std::make_shared<LongformerMechanism>(x); }
AttentionMechanismPtr mechanism_of(const BigBird& x) { return std::make_shared<BigBirdMechanism>(x); }
AttentionMechanismPtr mechanism_of(const Prefix& x) { return std::make_shared<PrefixMechanism>(x); }

}  // namespace qkv
