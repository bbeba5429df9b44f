// How long a command took, on stderr when it ends (--timings):
//
//     timings: the model was read in 0.41 s
//     timings: 12 tokens of the prompt in 0.03 s, 400 tokens/s
//     timings: 256 tokens generated in 1.83 s, 140 tokens/s
//     timings: 120 of 168 proposed tokens accepted
//     timings: 612 MB of memory at most
//
//     Timings timings;
//     ... read the model ...
//     timings.model_read();
//     timings.measure_prompt([&] { return generation.next(); });          // the first piece of a single text
//     timings.measure([&] { return generator.generate(prompts, options); });
//     timings.add(prompt_tokens, generated_tokens);
//     timings.add_speculated(text.speculated.proposed, text.speculated.accepted);
//     timings.print();
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace qkv::cli {

class Timings {
 public:
  explicit Timings(std::string written_as = "generated") : written_as_(std::move(written_as)) {}

  void model_read() { model_seconds_ = seconds_since(start_); }

  template <class Work>
  auto measure(Work work) {
    const Stopwatch stopwatch(*this);
    return work();
  }
  // What ends with the first token of a single text.
  template <class Work>
  auto measure_prompt(Work work) {
    const double before = seconds_;
    auto made = measure(work);
    prompt_seconds_ += seconds_ - before;
    return made;
  }
  // Tokens that were read and written in what was measured.
  void add(int64_t read, int64_t written) { read_ += read, written_ += written; }

  void add_speculated(int64_t proposed, int64_t accepted) { proposed_ += proposed, accepted_ += accepted; }
  // Tokens of prompts that were not read again.
  void add_reused(int64_t tokens) { reused_ += tokens; }

  std::vector<std::string> lines() const;
  void print() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Stopwatch {
    Timings& timings;
    Clock::time_point start = Clock::now();
    explicit Stopwatch(Timings& of) : timings(of) {}
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch() { timings.seconds_ += seconds_since(start); }
  };
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::string written_as_;
  Clock::time_point start_ = Clock::now();
  double model_seconds_ = 0, prompt_seconds_ = 0, seconds_ = 0;
  int64_t read_ = 0, written_ = 0, reused_ = 0, proposed_ = 0, accepted_ = 0;
};

}  // namespace qkv::cli
