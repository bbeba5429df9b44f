#include "cli/timings.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "qkv/base/counted.h"
#include "qkv/base/peak_memory.h"

namespace qkv::cli {
namespace {

std::string rate(int64_t tokens, double seconds) {
  return seconds > 0 ? fmt::format(", {:.0f} tokens/s", static_cast<double>(tokens) / seconds) : "";
}

}  // namespace

std::vector<std::string> Timings::lines() const {
  std::vector<std::string> out = {fmt::format("the model was read in {:.2f} s", model_seconds_)};
  const double writing = seconds_ - prompt_seconds_;
  if (prompt_seconds_ > 0)
    out.push_back(fmt::format("{} of the prompt in {:.2f} s{}", counted(read_, "token"), prompt_seconds_,
                              rate(read_, prompt_seconds_)));
  else
    out.push_back(fmt::format("{} read in {:.2f} s{}", counted(read_, "token"), seconds_, rate(read_, seconds_)));
  if (reused_ > 0) out.back() += fmt::format("; {} more known from the turn before", counted(reused_, "token"));
  const bool is_first_alone = prompt_seconds_ > 0 && written_ == 1;  // which belongs to the time of the prompt
  if (written_ > 0)
    out.push_back(fmt::format("{} {} in {}{:.2f} s{}", counted(written_, "token"), written_as_,
                              prompt_seconds_ > 0 ? "" : "the same ", writing,
                              is_first_alone ? "" : rate(written_, writing)));
  if (proposed_ > 0)
    out.push_back(fmt::format("{} of {} accepted", accepted_, counted(proposed_, "proposed token")));
  out.push_back(fmt::format("{:.0f} MB of memory at most", static_cast<double>(peak_memory()) / 1e6));
  return out;
}

void Timings::print() const {
  for (const std::string& line : lines()) say("timings: " + line);
}

}  // namespace qkv::cli
